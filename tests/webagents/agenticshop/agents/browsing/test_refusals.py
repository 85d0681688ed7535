"""What must not be done, whoever asks for it."""

from __future__ import annotations

import pytest

from grounding.webagents.agenticshop.agents.browsing.refusals import why_not_click, why_not_send, why_not_type

from .elements import button, element, field, form, told


@pytest.mark.parametrize(
    "label",
    ["Add to cart", "ADD TO BAG", "Buy now", "Buy it now", "Checkout", "Check out", "Place order", "Place your order",
     "Pay", "Pay now", "Sign in", "Log in", "Login", "Register", "Create an account", "Subscribe", "In den Warenkorb",
     "Ajouter au panier", "Añadir al carrito", "Proceed to checkout"],
)  # fmt: skip
def test_buying_and_signing_in_are_refused(label: str) -> None:
    assert why_not_click(element(button(label)))
    assert why_not_click(element(told(name=label)))


@pytest.mark.parametrize(
    "label",
    ["Oak desk lamp $49.00", "Search", "Next page", "Buyer's guide", "Customer reviews", "Size M", "Show more reviews",
     "Payment and delivery", "Order by price", "Designer lamps", "Login-free returns for every lamp that we have here"],
)  # fmt: skip
def test_looking_around_is_not(label: str) -> None:
    assert why_not_click(element(button(label))) == ""
    assert why_not_click(element(told(name=label))) == ""


@pytest.mark.parametrize(
    "one",
    [
        field(type="password"),
        field(type="email"),
        field(type="tel"),
        field(type="file"),
        field(autocomplete="cc-number"),
        field(autocomplete="section-a shipping street-address"),
        field(autocomplete="name"),
        field(field="cardNumber", name="Card number"),
        field(field="email_newsletter", name="Your e-mail"),
        field(name="Password"),
        field(name="First name"),
        field(name="ZIP code"),
        field(disabled=True),
    ],
)
def test_nothing_is_typed_into_fields_about_a_person(one: dict[str, object]) -> None:
    assert why_not_type(element(one))


@pytest.mark.parametrize(
    "one",
    [
        field(),
        field(type="search"),
        field(name="What are you looking for?", field="s"),
        field(name="Most price", field="max"),
    ],
)
def test_other_fields_are_free(one: dict[str, object]) -> None:
    assert why_not_type(element(one)) == ""
    assert why_not_send(element(one)) == ""


def test_forms_with_personal_data_are_not_sent_off() -> None:
    around = form({"type": "email", "name": "email"}, {"name": "comment"})
    assert why_not_send(element(field(name="Comment", field="comment", form=around)))
    assert why_not_click(element(button("Go", form=around)))
    assert why_not_click(element(button("Show more", type="button", form=around))) == ""
    assert why_not_send(element(field(form=form({"type": "search", "name": "q"})))) == ""


@pytest.mark.parametrize("href", ["mailto:a@b.test", "tel:123", "data:text/html,x", "file:///etc/passwd", "blob:x"])
def test_links_out_of_the_browser_are_refused(href: str) -> None:
    assert why_not_click(element(told(href=href)))
