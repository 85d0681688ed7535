"""For every wrong step of a run: was the plan wrong, or did the grounder not follow a right plan?

RealWebAssist (section 4) calls them *reasoning errors* (the planner mistranslates the instruction and refers to the
wrong element) and *grounding errors* (the rewritten instruction is right, the grounder still misses). The paper does
not say how its errors were told apart and releases no labels. Here up to three kinds of source say it, each on its own:

- ``reference``: the same grounder is given a reference instruction for the step;
- ``judge:CARD``: a chat model sees the screenshot with the gold place framed, and the plan;
- ``label:NAME``: a person wrote it down (``labels``).

Which wrong steps the sources are asked about (``labels``), the first line that applies:

====================================================================  ===============  ======
what the run holds                                                    kind             asked
====================================================================  ===============  ======
plan or prediction ended in an error, or the step was never asked     ``unanswered``   no
the planner's reply holds no plan, or the saved plans have none       ``no_plan``      no
recorded answers (``--predictions``) hold none for the step           ``unanswered``   no
the step's gold region has no shape: no place is right                ``no_gold``      no
the grounder's reply to the plan holds no place                       ``no_place``     yes
the place is outside the gold region                                  ``wrong_place``  yes
====================================================================  ===============  ======

What the reference says of a step that is asked about, the first line that applies:

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

The reference is a proxy: a plan that names a wrong element counts as a grounding error where the grounder fails with
the reference instruction as well, and a lucky hit with it counts as a reasoning error.

A judge or a person may also say ``unclear``; a judge's reply in another form is ``unparsed``. The split of a source
counts only what it calls reasoning or grounding; everything else is counted beside it.
"""
