"""The exceptions and their messages."""

import pytest

from subcast import errors


def test_a_missing_file_is_an_input_error_and_an_os_error_with_a_plain_message():
    error = errors.DataNotFoundError("there is no file")
    assert isinstance(error, errors.InputError)
    assert isinstance(error, FileNotFoundError)
    assert str(error) == "there is no file"
    assert str(errors.DataNotFoundError()) == ""


@pytest.mark.parametrize("kind", [errors.InputError, errors.DataError, errors.DataNotFoundError])
def test_every_error_is_a_subcast_error_and_a_value_error(kind):
    assert issubclass(kind, errors.SubcastError)
    assert issubclass(kind, ValueError)


@pytest.mark.parametrize(
    ("module", "sentence"),
    [
        ("lightning.pytorch", "training needs lightning.pytorch: install it with pip install 'subcast[models]'"),
        ("safetensors", "training needs safetensors: install it with pip install 'subcast[models]'"),
        ("torchvision", None),
        (None, None),
    ],
)
def test_missing_extra(module, sentence):
    assert errors.missing_extra(ModuleNotFoundError("not installed", name=module), "training") == sentence


def test_a_write_error_is_an_os_error_with_a_plain_message():
    error = errors.WriteError("plant could not be written")
    assert isinstance(error, errors.SubcastError)
    assert isinstance(error, OSError)
    assert not isinstance(error, ValueError)
    assert str(error) == "plant could not be written"
    assert str(errors.WriteError()) == ""
