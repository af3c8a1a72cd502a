"""What every study runs on; nothing here knows a paper or a benchmark.

machine         the description of the machine, the versions and the source
records         one JSON record per finished cell, appended to a file that survives a killed run
means           records summarized: mean, standard deviation and quantiles per cell
tables          Markdown tables
figures         SVG figures that are equal for equal data
pool            many cells over several processes (loky)
fresh_process   one function call in a new process, with its time and memory
"""
