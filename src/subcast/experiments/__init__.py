"""The paper's tables and figures as declared experiments, and the numbers that the paper prints for them."""
