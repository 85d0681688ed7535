"""For every wrong step of a run: was the plan wrong, or did the grounder not follow a right plan?

RealWebAssist (section 4) calls them *reasoning errors* (the planner refers to the wrong element) and *grounding errors*
(the rewritten instruction is right, the grounder still misses). The paper does not say how its errors were told apart
and releases no labels. Here up to three kinds of source say it, each on its own: ``reference`` (the same grounder is
given a reference instruction), ``judge:CARD`` (a chat model sees the gold place framed, and the plan) and
``label:NAME`` (a person wrote it down).

Sources are asked about a step whose place is outside the gold region (``wrong_place``) or where the grounder's reply to
the plan holds no place (``no_place``); not where plan or prediction ended in an error or is missing (``unanswered``),
there is no plan (``no_plan``) or the gold region has no shape (``no_gold``). Of such a step the reference says the
first that applies:

====================================================================  ===============
the reference instruction                                             says
====================================================================  ===============
does not exist for this step                                          ``missing``
is the plan, word for word: the plan is right                         ``grounding``
was not grounded (an error, never asked)                              ``error``
has no answer in the recorded ones                                    ``missing``
is followed to the right place                                        ``reasoning``
is followed to a wrong place, or the grounder names none              ``grounding``
====================================================================  ===============

It is a proxy: a plan that names a wrong element counts as a grounding error where the grounder fails with the reference
instruction as well, and a lucky hit with it counts as a reasoning error. A judge or a person may also say ``unclear``;
a judge's reply in another form is ``unparsed``. The split of a source counts only reasoning and grounding; everything
else is counted beside it.
"""
