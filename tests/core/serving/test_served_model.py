"""What the server says of its model."""


def test_a_reply_names_all_that_it_depends_on_beside_its_request(app):
    assert app.served.fingerprint == "small-step-5-float32"
