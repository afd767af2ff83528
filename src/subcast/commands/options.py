"""The arguments and options of the command line, with their help texts.

Importing this module does not import torch, so that `subcast --help` is quick.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from subcast.forecasters import FORECASTERS

_MODELS = " or ".join(", ".join(FORECASTERS).rsplit(", ", 1))
_PRESETS = "default, or paper for the published settings"
_TABLE_FILE = ".csv, .parquet, .h5 or .npz"
_FIGURE_FILE = ".png, .pdf or .svg"

# Options of several verbs

Data = Annotated[str, Argument(help="Name of a dataset, or a file of readings.")]
Wrapper = Annotated[Path, Argument(help="Folder that `subcast fit` wrote.")]
AsJson = Annotated[bool, Option("--json", help="Print the result as JSON.")]
Progress = Annotated[bool, Option("--progress/--no-progress", help="Show progress bars.")]
Threads = Annotated[int | None, Option(help="Number of processor threads for training; torch decides by default.")]
Device = Annotated[str, Option(help="Device for training: cpu, gpu or auto.")]
Epochs = Annotated[int | None, Option(help="Maximum number of training epochs; the preset decides by default.")]
Results = Annotated[Path, Option(help="Folder of the records.")]
Plot = Annotated[Path | None, Option(help=f"Write a plot to this {_FIGURE_FILE} file.")]

# Options of all verbs that read a table

TimeColumn = Annotated[str | None, Option("--time", help="Name of the column of times.")]
IdColumn = Annotated[str | None, Option("--id", help="Long tables: name of the column of variable names.")]
ValueColumn = Annotated[str | None, Option("--value", help="Long tables: name of the column of readings.")]
Rate = Annotated[
    str | None, Option("--freq", help="Time between steps, such as 5min, if it cannot be read from the times.")
]
TableKey = Annotated[str | None, Option("--key", help="Name of the table in an HDF5 or NPZ file.")]
DecimalMark = Annotated[
    str | None,
    Option("--decimal", help="Decimal mark of the numbers in a text file: . or , ; found from all numbers by default."),
]
ThousandsMark = Annotated[
    str | None,
    Option(
        "--thousands",
        help="Mark between thousands in a text file: . , ' _ a space or '' (none); found from all numbers by default.",
    ),
]


def table_options(
    time: str | None,
    id: str | None,
    value: str | None,
    freq: str | None,
    key: str | None,
    decimal: str | None,
    thousands: str | None,
) -> dict[str, str | None]:
    """Return the options that say how a table is read, as arguments of `open_series`."""
    return {
        "time": time,
        "id": id,
        "value": value,
        "freq": freq,
        "key": key,
        "decimal": decimal,
        "thousands": thousands,
    }


# subcast demo

DemoOutput = Annotated[Path, Option("--output", "-o", help="Folder for the page, the plot and the wrapper.")]
Live = Annotated[bool, Option("--live", help="Start a service with a replayed feed instead, until Ctrl-C.")]
DemoPort = Annotated[int, Option("--port", min=0, max=65535, help="Port of the service on 127.0.0.1, with --live.")]
DemoSeed = Annotated[int, Option(help="Random seed for the generated clouds and for drawing the plants that report.")]

# subcast train

TrainOutput = Annotated[
    Path, Option("--output", "-o", help="Folder for the model; an interrupted training in it is resumed.")
]
TrainModel = Annotated[str, Option(help=f"Model to train: {_MODELS}.")]
TrainPreset = Annotated[str, Option(help=f"Settings of training and data: {_PRESETS}.")]
TrainLookback = Annotated[int, Option(help="Number of past steps that the model uses.")]
TrainHorizon = Annotated[int, Option(help="Number of steps to forecast.")]
TrainSeed = Annotated[int, Option(help="Random seed for training; equal seeds give equal models.")]
Graph = Annotated[
    str | None,
    Option(
        help="Graph of a graph model: series, correlation, identity, or the folder of a trained model with a graph."
    ),
]

# subcast fit

FitOutput = Annotated[Path, Option("--output", "-o", help="Folder for the wrapper; an existing wrapper is replaced.")]
FitModel = Annotated[
    str, Option(help=f"Model to train ({_MODELS}), a folder that `subcast train` wrote, or a .onnx file.")
]
FitPreset = Annotated[
    str | None,
    Option(help=f"Settings of training and data: {_PRESETS}. By default those of the trained model, else default."),
]
FitLookback = Annotated[
    int | None, Option(help="Number of past steps that the model uses; 12 by default, or as the model has it.")
]
FitHorizon = Annotated[int | None, Option(help="Number of steps to forecast; 12 by default, or as the model has it.")]
TrainingFolder = Annotated[
    Path | None,
    Option(help="Folder of the training; an interrupted training in it is resumed. OUTPUT-training by default."),
]
Metric = Annotated[str, Option(help="Error that tuning minimizes: mae or rmse.")]
Effort = Annotated[
    float, Option(help="Amount of validation data that tuning uses; 0.5 uses half as many windows as 1.")
]
Seconds = Annotated[float | None, Option(help="Stop tuning after this many seconds, with a warning.")]
FitLevels = Annotated[
    list[float] | None,
    Option("--level", help="Level of the prediction intervals, 0.9 by default; may be given several times."),
]
FitSeed = Annotated[int, Option(help="Random seed for training, tuning and calibration.")]
Paper = Annotated[bool, Option("--paper", help="Use the published method instead of subcast's own.")]
SettingTexts = Annotated[
    list[str] | None,
    Option("--set", help="Fix a setting of the method, such as neighbors=20; may be given several times."),
]

NoLimits = Annotated[
    bool, Option("--no-limits", help="Take every number as a reading, also one that training never came near.")
]
LimitTexts = Annotated[
    list[str] | None,
    Option("--limit", help="Range of a variable's readings, NAME=LOW:HIGH; may be given several times."),
]

BankFolder = Annotated[
    str | None,
    Option("--bank", help="Folder that `subcast bank write` wrote for the same data: search it instead of memory."),
]
ClusterAddress = Annotated[
    str | None,
    Option("--cluster", help="Address of a Dask scheduler (tcp://host:8786), whose workers do the work."),
]

# subcast bank

ShardFolder = Annotated[str, Argument(help="Folder for the shards: a path, or an address such as s3://bucket/bank.")]
BankLookback = Annotated[int, Option(min=1, help="Number of steps in a window.")]
BankHorizon = Annotated[int, Option(min=0, help="Number of steps after a window.")]
ShardSteps = Annotated[int | None, Option("--steps", help="Steps of each shard; as many as fit into 64 MB by default.")]
BankPart = Annotated[
    str, Option("--part", help="Steps to write: train for the training part, which fit --bank needs, or all.")
]
Streamed = Annotated[
    bool, Option("--stream", help="Read a clean .parquet or .csv file in pieces, because it does not fit into memory.")
]
Appended = Annotated[bool, Option("--append", help="Add the steps to the end of the bank in the folder.")]
BankPreset = Annotated[str, Option("--preset", help="How the data are split: default, or paper as published.")]

# subcast inspect

EveryLimit = Annotated[bool, Option("--all", help="Show the limits of every variable.")]

# subcast forecast

Strict = Annotated[
    bool, Option("--strict", help="Refuse readings beyond the limits; by default they are left out, with a note.")
]
Recent = Annotated[Path, Argument(help=f"File with the latest readings ({_TABLE_FILE}), wide or long.")]
ForecastOutput = Annotated[Path | None, Option("--output", "-o", help="Write the forecast to this .csv file.")]
Absent = Annotated[bool, Option("--absent", help="Also forecast the variables that are absent.")]
ForecastLevels = Annotated[
    list[float] | None,
    Option("--level", help="Level of the prediction intervals, as fitted by default; may be given several times."),
]

# subcast screen

ScreenedReadings = Annotated[Path, Argument(help=f"File of readings to screen ({_TABLE_FILE}), wide or long.")]
FlagsOutput = Annotated[
    Path | None, Option("--output", "-o", help="Write the flag of every reading (QARTOD) to this .csv file.")
]

# subcast evaluate

FittedData = Annotated[
    str, Argument(help="Data the wrapper was fitted on: name of a dataset, or a file. Its test part is used.")
]
Present = Annotated[str, Option(help="Variables that are present: a share (15% or 0.15) or a number (21).")]
Draws = Annotated[int, Option(help="Number of random subsets of present variables.")]
Every = Annotated[int, Option(help="Evaluate every Nth test window.")]
Step = Annotated[int | None, Option(help="Step of the horizon shown in the table; the last by default.")]
SubsetSeed = Annotated[int, Option(help="Random seed for drawing subsets.")]
EvaluatePreset = Annotated[
    str | None, Option(help="Split of the data: default or paper. By default the split of the fit.")
]
Rivals = Annotated[
    bool, Option("--rivals/--no-rivals", help="Compare with simpler methods, which trains a boosted model.")
]
RecordOutput = Annotated[Path | None, Option("--output", "-o", help="Write the record to this .json file.")]

# subcast refresh

NewReadings = Annotated[Path, Argument(help=f"File of readings that follow those of the wrapper ({_TABLE_FILE}).")]
NewOnly = Annotated[
    bool, Option("--new-only", help="Leave out steps that the wrapper already knows instead of refusing them.")
]
RefreshOutput = Annotated[
    Path | None, Option("--output", "-o", help="Folder to write; by default the wrapper is replaced in one step.")
]

# subcast serve

Port = Annotated[int, Option(min=0, max=65535, help="Port to listen on; 0 for any free one.")]
Host = Annotated[str, Option(help="Address to listen on; another one than loopback needs --keys.")]
DatabaseUrl = Annotated[
    str | None,
    Option("--database", help="postgresql://... or sqlite:///file; by default a SQLite file beside the folder."),
]
Workers = Annotated[int, Option(min=1, help="Number of processes; more than one needs PostgreSQL.")]
KeysFile = Annotated[Path | None, Option("--keys", help="File with the hashes of keys; see --new-key.")]
NewKey = Annotated[
    str | None,
    Option(metavar="NAME:ROLE", help="Add a key to --keys, show it once, and end. Roles: read, write, admin."),
]
Clock = Annotated[
    str, Option(help="wall: steps end by the clock; feed: by the newest reading, to replay the past; auto.")
]
Deadline = Annotated[
    float | None, Option(help="Seconds after a step at which it is forecast whoever has reported; half a step.")
]
LateSteps = Annotated[int | None, Option(min=1, help="How many steps late a reading may come; a day by default.")]
CatchUp = Annotated[
    int, Option(min=1, help="How many missed steps are forecast after a pause; earlier ones are left out.")
]
KeepReadings = Annotated[float | None, Option(help="Days to keep readings; all by default.")]
KeepForecasts = Annotated[float | None, Option(help="Days to keep forecasts; all by default.")]
Webhook = Annotated[str | None, Option(help="URL to which alerts are posted.")]
RequestRate = Annotated[float, Option("--rate", help="Requests a second that a client may send; 0 for no limit.")]
LogLevel = Annotated[str, Option(help="debug, info, warning or error.")]

# subcast replay and subcast sensors

ServiceUrl = Annotated[str, Option("--url", help="Address of the service. Its key is read from SUBCAST_KEY.")]
StoppedFolder = Annotated[
    Path | None,
    Option("--folder", help="Folder of the wrapper of a service that is stopped: its database is used, not --url."),
]
StoppedDatabase = Annotated[
    str | None, Option("--database", help="With --folder: the database, if it is not the file beside the folder.")
]
ReplayFile = Annotated[Path, Argument(help=f"File of readings to send ({_TABLE_FILE}).")]
Speed = Annotated[float, Option(help="How many times as fast as the readings happened; 0 as fast as possible.")]
Kill = Annotated[
    str | None,
    Option(help="Sensors that fall silent: a,b,c, or with a step or a time each: a@40,b@2026-05-01T12:00,c@40..90."),
]
Stick = Annotated[str | None, Option(help="Sensors that repeat their last reading, as with --kill.")]
Offset = Annotated[str | None, Option(help="Sensors that jump to an offset of three spreads, as with --kill.")]
Drift = Annotated[str | None, Option(help="Sensors that drift by three spreads over 72 steps, as with --kill.")]
ReplayStart = Annotated[str, Option("--start", help="First time to replay; the first of the table by default.")]
ReplaySteps = Annotated[int | None, Option("--steps", min=1, help="Number of steps to replay; all by default.")]
Warm = Annotated[
    int | None, Option(min=0, help="Number of steps in the first request; those of one window by default.")
]
Now = Annotated[
    bool,
    Option(
        "--now", help="Send readings with the present time, for a service that goes by the clock; else with their own."
    ),
]

Sensor = Annotated[str, Argument(help="Name of the sensor, as in the training.")]
NewName = Annotated[str, Argument(help="Name under which the new device sends; the same name if it keeps it.")]
MaintenanceStart = Annotated[str, Argument(help="When the maintenance begins, such as 2026-11-20T08:00.")]
MaintenanceEnd = Annotated[str, Argument(help="When it ends.")]
Reason = Annotated[str, Option("--reason", help="Why, for the people who read it later.")]
ReplacedAt = Annotated[
    str | None, Option("--at", help="First time at which the new device sends; from the next step on by default.")
]
EverySensor = Annotated[bool, Option("--all", help="Show every sensor, not only those that are not well.")]

# subcast reproduce and subcast report

Experiments = Annotated[list[str] | None, Argument(help="Names of experiments, or all.")]
Listing = Annotated[bool, Option("--list", help="List the experiments and the number of their records.")]
Datasets = Annotated[
    list[str] | None, Option("--dataset", help="Run only these datasets; separate several with commas.")
]
Models = Annotated[list[str] | None, Option("--models", help="Run only these models; separate several with commas.")]
Seeds = Annotated[
    int | None, Option(help="Number of trained models per dataset and model; the scale decides by default.")
]
ReproduceDraws = Annotated[
    int | None, Option(help="Number of random subsets of present variables; the scale decides by default.")
]
ReproduceEvery = Annotated[int | None, Option(help="Evaluate every Nth test window; the scale decides by default.")]
Scale = Annotated[str, Option(help="Size of the run: quick (minutes) or full (as in the paper).")]
Checkpoints = Annotated[list[Path] | None, Option(help="Folder of trained models; may be given several times.")]
Again = Annotated[bool, Option("--again", help="Re-run cells that already have a record.")]
Page = Annotated[Path, Option("--output", "-o", help="Markdown file to write.")]

# subcast datasets

TableFile = Annotated[str, Argument(help=f"File of readings ({_TABLE_FILE}), or the name of a dataset.")]
AllVariables = Annotated[
    bool, Option("--all", help="Show every variable, not only those with the most missing readings.")
]
ExportFile = Annotated[Path, Argument(help="The .csv, .parquet or .npz file to write.")]
