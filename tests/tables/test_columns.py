"""What a column is, and the values of its cells: tables of cases."""

import datetime
import decimal
import io
import json
import warnings

import numpy as np
import pandas as pd
import polars
import pytest
from numpy.testing import assert_array_equal

from semisvm.tables.cells import ColumnError, date_parts
from semisvm.tables.columns import CellError, Columns, DecimalMarkError

nan = np.nan


def decide(cells, **options):
    frame = pd.DataFrame({"c": pd.Series(cells)})
    columns = Columns.decide(frame, **options)
    assert Columns.from_dict(json.loads(json.dumps(columns.as_dict()))) == columns
    values, remarks = columns.read(frame)
    assert remarks == []
    return columns.used[0], values["c"].tolist()


NUMBERS = [
    (["1", "2.5", "-3", "+4", "1e3", ".5"], [1, 2.5, -3, 4, 1000, 0.5]),
    (["$20,000.00", "$1.50", "n/a"], [20000, 1.5, nan]),
    (["15,829 NT$", "3,913 NT$", "1,234,567 NT$"], [15829, 3913, 1234567]),
    (["1.234,56 €", "5,00 €", "-"], [1234.56, 5, nan]),
    (["1.234,5", "7,25", "1.234.567"], [1234.5, 7.25, 1234567]),
    (["(5.2)", "3.1", "7-"], [-5.2, 3.1, -7]),
    (["−5", "3"], [-5, 3]),
    (["12.5%", "3 %", "?"], [12.5, 3, nan]),
    (["1 234", "12 345,5"], [1234, 12345.5]),
    (["1\u202f234,5", "2"], [1234.5, 2]),
    (["1'234.50", "999.00"], [1234.5, 999]),
    (["12,34,567", "1,23,456"], [1234567, 123456]),
    (["0,123", "0,456"], [0.123, 0.456]),
    (["3.4 kg", "5kg", "1,000.5 kg"], [3.4, 5, 1000.5]),
    (["USD 5", "USD 7,000.5"], [5, 7000.5]),
    (["5°C", "-7.5 °C"], [5, -7.5]),
    (["10 km/h", "12 km/h"], [10, 12]),
    (["true", "FALSE", None], [1, 0, nan]),
    ([" 5 ", "unknown", "6"], [5, nan, 6]),
    (["1", "2", "3", "refused"], [1, 2, 3, nan]),
    ([1, 2.5, None], [1, 2.5, nan]),
    ([1, "2", 3.0], [1, 2, 3]),
    ([True, False], [1, 0]),
    ([decimal.Decimal("1.50"), decimal.Decimal(2)], [1.5, 2]),
    (pd.array([1, None, 3], dtype="Int64"), [1, nan, 3]),
    (pd.to_timedelta([1, 2], unit="h"), [3600, 7200]),
]


@pytest.mark.parametrize(("cells", "values"), NUMBERS)
def test_numbers(cells, values):
    column, found = decide(cells)
    assert column.kind == "number"
    assert_array_equal(found, np.array(values, dtype=float))


CATEGORIES = [
    ["red", "blue", "red"],
    ["00501", "10001", "90210"],
    ["5 kg", "3 lb"],
    ["1.2K", "900", "3M"],
    ["12", "13", "12a", "14b", "9c"],
    ["AB123", "AB124"],
    ["10.0.0.1", "10.0.0.2"],
    ["1.2.3", "1.2.4"],
    ["1,2,3", "1,2"],
    ["1st", "2nd"],
    ["25-34", "35-44"],
    ["12:30", "13:45"],
    ["1_000", "2"],
    ["1e999", "2"],
    ["2024-01-05", "05/31/2024"],
    pd.Categorical([1, 2, 1]),
]


@pytest.mark.parametrize("cells", CATEGORIES)
def test_categories(cells):
    column, found = decide(cells)
    assert column.kind == "category"
    assert found == [str(cell) for cell in cells]


DAY = datetime.datetime(2024, 2, 25)
DAYS = "%d/%m/%Y|%m/%d/%Y|%d.%m.%Y|%d-%m-%Y|%Y/%m/%d|%d %b %Y|%d %B %Y|%b %d, %Y|%B %d, %Y|%d-%b-%Y|%d-%b-%y|%d.%m.%y|%d/%m/%y|%m/%d/%y|%Y-%m-%d"


@pytest.mark.parametrize("day", DAYS.split("|"))
@pytest.mark.parametrize("time", ["", " %H:%M", " %H:%M:%S", " %I:%M %p"])
def test_dates_in_fourteen_formats_and_four_times(day, time):
    if (day, time) == ("%Y-%m-%d", " %I:%M %p"):
        return  # no ISO 8601
    moments = [DAY + datetime.timedelta(days=40 * k, minutes=61 * k) for k in range(9)]
    if not time:
        moments = [moment.replace(hour=0, minute=0) for moment in moments]
    column, found = decide([moment.strftime(day + time) for moment in moments])
    assert column.kind == "date"
    assert found == moments


@pytest.mark.parametrize(
    "cells",
    [
        pd.date_range("2024-01-01", periods=3),
        pd.date_range("2024-01-01", periods=3, tz="UTC"),
        pd.period_range("2024-01-01", periods=3, freq="D"),
        [datetime.date(2024, 1, k) for k in (1, 2, 3)],
        ["2024-01-01", "2024-01-02T00:00:00Z", "2024-01-03T02:00:00+02:00"],
    ],
)
def test_dates_however_they_are_stored(cells):
    column, found = decide(cells)
    assert column.kind == "date"
    assert found == [datetime.datetime(2024, 1, k) for k in (1, 2, 3)]


def test_parts_of_dates_are_exact_at_midnight():
    parts = date_parts(pd.date_range("1999-12-31", periods=900).to_numpy("M8[us]"))
    assert_array_equal(parts[:, 5:], np.tile([0, 1], (900, 1)))
    assert parts[1, 0] == 0


@pytest.mark.parametrize(
    ("name", "cells", "why"),
    [
        ("c", [None, None], "holds no value"),
        ("c", ["x", "x", None], "holds 'x' in every row"),
        ("c", [3.0, 3.0], "holds 3 in every row"),
        ("c", range(30), "numbers the rows"),
        ("customer_id", range(100, 130), "is an identifier: a different whole number in every row"),
        ("orderId", [2**60 + 7 * k for k in range(30)], "more than 15 digits"),
        ("c", [f"name {k}" for k in range(30)], "is different in every row"),
        (
            "c",
            [f"{k} {u}" for k in range(25) for u in ("kg", "lb")],
            "in different units, 'kg', 'lb'",
        ),
    ],
)
def test_columns_that_say_nothing_are_left_out(name, cells, why):
    columns = Columns.decide(
        pd.DataFrame({name: list(cells)}).assign(z=lambda f: np.arange(len(f)) % 2)
    )
    assert why in columns.left_out[name]
    assert columns.names == ["z"]


def test_texts_have_three_words_or_more_in_any_script():
    assert decide(["a b c d", "e f"])[0].kind == "text"
    assert decide(["我喜欢这个产品", "包装有一些问题"])[0].kind == "text"
    assert decide(["a b", "e f"])[0].kind == "category"


@pytest.mark.parametrize(
    ("others", "value"),
    [
        ({}, None),
        ({"x": ["1.5", "2.5"]}, 19842),
        ({"x": [0.5, 1.5]}, 19842),
        ({"x": ["2,5", "0,5"]}, 19.842),
    ],
)
def test_the_decimal_mark_is_proved_by_any_column_or_asked_for(others, value):
    frame = pd.DataFrame({"price": ["19,842", "3,913"], **others})
    if value is None:
        with pytest.raises(DecimalMarkError, match="'19,842' in column 'price' may be") as raised:
            Columns.decide(frame)
        assert (raised.value.column, raised.value.example) == ("price", "19,842")
        for mark, number in ((".", 19842), (",", 19.842)):
            assert Columns.decide(frame, decimal=mark).read(frame)[0]["price"][0] == number
    else:
        assert Columns.decide(frame).read(frame)[0]["price"][0] == value


def test_remarks_say_what_a_person_should_check():
    frame = pd.DataFrame(
        {
            "price": ["$1,234.50", "$7"] * 15,
            "age": ["31", "40", "refused"] * 10,
            "day": ["05/04/2024", "06/07/2024"] * 15,
            "time": range(40, 70),
        }
    )
    remarks = Columns.decide(frame).remarks
    assert remarks["price"] == "'$1,234.50' is read as 1234.5"
    assert remarks["age"] == "'refused' counts as an empty cell"
    assert "day first" in remarks["day"]
    assert "is it an identifier?" in remarks["time"]


def test_new_rows_are_read_by_the_decision_of_the_fit():
    frame = pd.DataFrame({"price": ["$1,000.00", "$2"], "zip": ["00501", "10001"], "y": ["a", "b"]})
    columns = Columns.decide(frame)
    new = pd.DataFrame({"y": ["c"] * 40, "zip": [501] * 40, "price": ["3"] * 39 + ["two"]})
    values, remarks = columns.read(new)
    assert list(values) == ["price", "zip", "y"]
    assert values["price"][:38].tolist() == [3] * 38
    assert np.isnan(values["price"][39])
    assert values["zip"][0] == "00501"
    assert remarks == [
        "1 cell of 'price' is no number ('two'): read as empty",
        "40 codes of 'zip' without their zeros: read with 5 digits",
    ]
    with pytest.raises(
        CellError, match="row 4: column 'price' holds 'two' where a number"
    ) as raised:
        columns.read(new.assign(price=["1"] * 4 + ["two"] * 36))
    assert raised.value.row == 4
    with pytest.raises(ColumnError, match=r"no column 'y'.*Did you mean 'Y '"):
        columns.read(new.rename(columns={"y": "Y "}))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"kinds": {"b": "number"}}, "there is no column 'b'. Did you mean 'B'"),
        ({"kinds": {"c": "words"}}, "can't be a 'words': choose one of number, category"),
        ({"kinds": {"c": "number"}}, "can't be read as numbers: it holds, for example, 'x'"),
        ({"kinds": {"B": "date"}}, "column 'B' holds numbers, which can't be read as dates"),
        ({"drop": ["c", "B"]}, "no column is left to learn from: there is none"),
    ],
)
def test_what_can_not_be_is_refused_with_the_reason(options, message):
    with pytest.raises(ValueError, match=message):
        Columns.decide(pd.DataFrame({"c": ["x", "y"], "B": [1, 2]}), **options)


def test_two_columns_of_one_name_and_cells_of_lists_are_refused():
    with pytest.raises(ColumnError, match="two columns are called 'a'"):
        Columns.decide(pd.DataFrame([[1, 2]], columns=["a", "a"]))
    with pytest.raises(ColumnError, match="'c' holds cells of type list"):
        decide([[1], [2]])


def test_one_table_from_csv_parquet_pandas_polars_and_arrow_is_the_same():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "amount": np.where(rng.random(60) < 0.1, nan, rng.normal(size=60).round(3)),
            "visits": rng.integers(0, 9, 60),
            "sent": pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 90, 60), unit="D"),
            "urgent": rng.random(60) < 0.3,
            "city": rng.choice(["Oslo", "Rome", "Kyiv"], 60),
            "price": [f"€{x:,.2f}" for x in rng.lognormal(8, 1, 60)],
        }
    )
    text, parquet = io.StringIO(), io.BytesIO()
    frame.to_csv(text, index=False)
    frame.to_parquet(parquet)
    values, _ = Columns.decide(frame).read(frame)
    others = [
        pd.read_csv(io.StringIO(text.getvalue())),
        pd.read_csv(io.StringIO(text.getvalue()), dtype=str, keep_default_na=False),
        pd.read_parquet(parquet),
        pd.read_parquet(parquet, dtype_backend="pyarrow"),
        polars.from_pandas(frame),
    ]
    for other in others:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            found, _ = Columns.decide(other).read(other)
        assert list(found) == list(values)
        for name in values:
            assert_array_equal(found[name], values[name])
