from grounding.records import Call, Plan, Prediction, Usage
from grounding.scoring import CostTotals, TimeTotals, totals


def plan(call):
    return Plan(step_id="1/1", key="k", text="click Send", call=call)


def prediction(call):
    return Prediction(step_id="1/1", key="k", point=None, call=call)


def test_time_and_money_are_added_up_by_stage():
    planned = Call(seconds=2, attempts=3, usage=Usage(input_tokens=100, output_tokens=20), cost_usd=0.25)
    grounded = Call(seconds=0.5, usage=Usage(input_tokens=10, output_tokens=2, cached_input_tokens=5), cost_usd=0.5)
    result = totals([plan(planned), plan(planned), plan(None)], [prediction(grounded), prediction(None)], wall_s=3)
    assert result.time == TimeTotals(wall_s=3, planner_s=4, grounder_s=0.5, retries=4)
    assert result.cost == CostTotals(usd=1, planner_usd=0.5, grounder_usd=0.5, input_tokens=210, output_tokens=42)


def test_a_price_that_nobody_knows_is_not_zero():
    result = totals([plan(Call(seconds=1, cost_usd=0.0))], [prediction(Call(seconds=1))])
    assert (result.cost.usd, result.cost.planner_usd, result.cost.grounder_usd) == (0, 0, None)


def test_nothing_asked():
    result = totals([], [])
    assert result.time == TimeTotals()
    assert result.cost == CostTotals()
    assert isinstance(result.time.planner_s, float)
