// Render the formulas of a page with the KaTeX of this site. The theme replaces pages without reloading them, so
// the rendering is attached to its stream of documents.
document$.subscribe(({ body }) => {
  renderMathInElement(body, {
    delimiters: [
      { left: "\\(", right: "\\)", display: false },
      { left: "\\[", right: "\\]", display: true },
    ],
    throwOnError: false,
  });
});
