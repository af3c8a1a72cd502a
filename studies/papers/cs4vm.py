"""CS4VM (Li, Kwok, Zhou 2010): Tables 1 to 3, a summary of them, and constants to compare with.

Which class is positive, how many of the ten labels are, C of the ground truth and of TSVM were
chosen by fit to the published tables; `samples` says how the sets are prepared.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy.stats import t as student

from studies.papers.lines import Found, Line, Paper, Reference, Table, Task, read_table
from studies.records import Summary, summarize

COLUMNS = ("CS-SVM", "Laplacian SVM", "TSVM", "CS4VM", "ground truth CS-SVM")
# Mean total cost on the test half and its standard deviation. Cost of a missed positive (U: drawn
# from U[0, 1000], Table 1; else Table 2), set | the five columns
TABLES_1_AND_2 = """
 2 House-votes    |     39.8     10.9 |     47.5     20.8 |     58.0     15.4 |     38.0     11.6 |     21.8      4.2
 2 Clean1         |    131.6     21.1 |    141.2     20.7 |    144.7     23.4 |    132.1     21.4 |     57.6      7.6
 2 Australian     |    136.0     44.9 |    170.4     63.8 |    132.3     53.6 |    120.8     40.4 |     82.6      9.8
 2 German         |    276.7     27.4 |    286.4     31.7 |    268.2     45.6 |    275.0     28.8 |    196.6      8.8
 2 Krvskp         |    848.4    172.6 |    856.3    141.2 |    936.3    188.7 |    794.7    143.8 |     59.1      8.6
 2 Heart-statlog  |     54.2     12.4 |     59.3     11.7 |     55.0     14.6 |     54.4     13.2 |     33.9      5.9
 2 Diabetes       |    236.3     30.6 |    241.9     17.6 |    220.4     45.4 |    196.4     43.4 |    136.3      8.8
 2 Ionosphere     |     80.0     23.1 |    112.5     14.8 |     71.4     23.5 |     68.4     23.8 |     39.4      6.3
 2 Liver          |     99.8      4.7 |    114.0     21.3 |    114.9     14.8 |    105.2     11.6 |     96.9      5.8
 2 Echocardiogram |     23.8      4.5 |     44.8     11.7 |     20.9      4.9 |     23.9      4.4 |     21.7      5.3
 2 Spectf         |     88.9     14.8 |    104.0     12.0 |     82.1     16.6 |     86.0     16.1 |     50.1      6.1
 2 Heart          |     67.5     12.6 |     69.1     12.3 |     48.7     14.3 |     49.8     12.1 |     34.6      4.4
 2 House          |     14.1      4.9 |     13.0      6.5 |     12.8      5.8 |     12.1      5.8 |      5.1      1.9
 2 Wdbc           |    102.6      8.1 |    139.6    101.5 |     57.6     14.4 |     52.1     10.2 |     20.1      4.5
 2 Isolet         |     34.1     17.1 |     37.6     18.8 |      4.3      4.4 |      5.0      4.2 |      1.9      1.5
 2 Optdigits      |     44.3     22.9 |     29.6     16.5 |      6.6      7.1 |     15.0     15.1 |      1.9      1.9
 2 Vehicle        |     78.0     17.9 |     96.5     51.0 |     47.4     26.6 |     53.0     18.1 |     12.9      3.4
 2 Sat            |     44.2     75.9 |     31.0     33.2 |     12.8     36.4 |     32.8     76.5 |      4.4      2.2
 5 House-votes    |     85.0     28.7 |     90.5     49.7 |    127.2     34.1 |     72.0     25.4 |     34.6      9.7
 5 Clean1         |    231.4     56.7 |    257.8     46.7 |    269.5     53.8 |    209.6     41.2 |     83.1     12.4
 5 Australian     |    282.3    106.6 |    292.4    133.4 |    251.8     86.4 |    231.0     76.4 |    117.9     15.9
 5 German         |    464.4     76.7 |    488.4    120.6 |    462.9     85.5 |    406.4     63.3 |    294.4     21.1
 5 Krvskp         |     1717      481 |     1714      423 |     1757      345 |     1364      282 |     73.2     15.8
 5 Heart-statlog  |    112.0     31.2 |     67.3     17.3 |    115.3     32.1 |     96.3     28.4 |     59.5     11.2
 5 Diabetes       |    264.0     49.3 |    313.9    119.2 |    431.0    115.4 |    338.9    108.9 |    178.0     10.9
 5 Ionosphere     |    176.7     62.8 |    277.3     35.8 |    151.0     50.1 |    128.3     32.2 |     82.7     12.6
 5 Liver          |    100.3      5.5 |    184.0    116.6 |    220.0     28.2 |    105.6     16.2 |     99.6      4.4
 5 Echocardiogram |     51.3     13.8 |     50.8      8.5 |     45.3     11.2 |     49.9     13.6 |     31.9      6.2
 5 Spectf         |    112.7     41.0 |    122.9     27.4 |    152.5     37.5 |    104.4     32.9 |     62.1     11.2
 5 Heart          |     73.0     10.8 |     80.8     32.9 |     92.2     33.0 |     68.6      7.6 |     54.4      9.0
 5 House          |     24.7     11.9 |     20.9     13.3 |     20.8     12.0 |     19.3     10.8 |      8.5      4.0
 5 Wdbc           |    103.1      8.3 |    323.0    273.2 |    123.5     38.6 |     71.0     12.6 |     27.9      5.2
 5 Isolet         |     73.0     45.7 |     83.8     48.0 |      9.6     10.1 |     16.2     15.0 |      3.5      3.3
 5 Optdigits      |     81.5     39.4 |     51.7     27.8 |     13.2     15.8 |     28.9     25.1 |      3.3      4.4
 5 Vehicle        |     89.3     21.3 |    194.2    151.8 |     92.5     65.5 |     74.6     23.3 |     19.4      3.7
 5 Sat            |     61.8     95.1 |     72.0     85.0 |     23.0     72.0 |     59.4    131.9 |      9.7      6.0
10 House-votes    |    159.0     58.4 |    175.5     98.2 |    248.6     67.7 |    127.7     45.2 |     49.5     13.5
10 Clean1         |    397.8    120.5 |    454.3     97.1 |    479.2    101.1 |    340.3     76.9 |    116.2     26.8
10 Australian     |    526.2    213.0 |    519.6    278.7 |    478.4    159.7 |    395.3    128.7 |    158.0     34.8
10 German         |    777.2    174.6 |    818.4    314.5 |    767.6    157.4 |    600.7    119.3 |    389.3     56.6
10 Krvskp         |     3167     1006 |     3096      900 |     3193      628 |     2264      524 |     88.7     23.4
10 Heart-statlog  |    207.9     63.7 |     80.7     33.7 |    214.3     63.8 |    160.5     55.6 |     76.2     22.7
10 Diabetes       |    314.8    120.5 |    433.9    319.3 |    776.2    210.0 |    489.4    181.0 |    247.2     12.7
10 Ionosphere     |    340.9    130.5 |    552.0     72.8 |    284.0     93.8 |    219.2     58.0 |    130.7     30.0
10 Liver          |    101.2      7.6 |    300.7    276.4 |    363.6     60.1 |    109.5     24.0 |     99.6      4.4
10 Echocardiogram |     87.3     28.8 |     60.8     21.9 |     84.4     25.8 |     84.0     27.8 |     48.7     12.0
10 Spectf         |    181.2     92.5 |    154.4     76.0 |    280.4     72.7 |    130.0     40.5 |     67.5     13.8
10 Heart          |     79.0     19.3 |     91.7     46.0 |    147.6     52.6 |     75.5      7.0 |     71.5      8.5
10 House          |     42.3     24.4 |     32.5     30.2 |     35.3     17.6 |     29.2     15.9 |     13.1      8.1
10 Wdbc           |    103.1      8.3 |    627.2    530.2 |    208.0     75.7 |     80.2     12.6 |     34.9      9.2
10 Isolet         |    137.8     94.8 |    176.1     96.4 |     20.8     24.5 |     32.6     21.8 |      6.3      6.7
10 Optdigits      |    143.5     77.7 |     88.0     49.0 |     28.6     41.0 |     44.7     30.6 |      5.5      8.8
10 Vehicle        |    108.0     39.9 |    347.0    345.6 |    178.7    122.1 |     88.1     33.0 |     26.8      5.7
10 Sat            |        -        - |        -        - |        -        - |        -        - |        -        -
 U House-votes    |     8594     7187 |     9693     8515 |    12500     8551 |     6206     4644 |     1804     1694
 U Clean1         |    17960    13440 |    20630    14880 |    21970    14260 |    13470     9942 |     3618     2631
 U Australian     |    23630    19060 |    25010    27150 |    24800    19000 |    15980    11860 |     3263     3191
 U German         |    30170    22280 |    30540    26160 |    26480    18830 |    18630    13300 |     6686     5029
 U Krvskp         |   144900    87030 |   131500    81300 |   158000    90430 |    92420    52090 |     1865     1789
 U Heart-statlog  |     9745     6906 |     1640     2708 |    10280     6985 |     6261     4920 |     1894     1836
 U Diabetes       |     5772    10840 |     6162    14110 |    32080    19300 |    10010     8946 |    249.0      7.0
 U Ionosphere     |    17020    12840 |    27190    17030 |    11980     7749 |     7811     5130 |     5036     3604
 U Liver          |    178.0    388.0 |    11370    17290 |    12010     7844 |    507.0   1018.0 |    100.0      5.0
 U Echocardiogram |     3955     2609 |     1314     2305 |     4129     2610 |     3576     2391 |    982.0   1301.0
 U Spectf         |     6022     6451 |     2974     5514 |    12520     8384 |     2873     2533 |    940.0   1056.0
 U Heart          |    615.0   1188.0 |     1962     6346 |     6908     4770 |    127.0    205.0 |    472.0    852.0
 U House          |     1760     1505 |     1325     1415 |     1458     1479 |    935.0   1061.0 |    465.0    618.0
 U Wdbc           |    127.0    125.0 |    32920    38520 |    11330     8367 |    264.0    415.0 |    251.0    479.0
 U Isolet         |     4976     4218 |     7207     6382 |    943.0   1394.0 |    420.0    670.0 |    198.0    368.0
 U Optdigits      |     6642     6881 |     4025     4177 |     1097     1951 |    773.0   1197.0 |    222.0    538.0
 U Vehicle        |     1978     3812 |    18700    26500 |     7191     7800 |     1002     1667 |    378.0    432.0
 U Sat            |     3404     7363 |     6968    10010 |     2122     9839 |     2521     9407 |    646.0    729.0
"""
# What a correct implementation gives: means of prototypes (ours), in the layout above.
EXPECTED = """
 2 House-votes    |   41.8   14.3 |   40.5   13.0 |   59.4   11.2 |   41.7   12.5 |   20.9    6.1
 2 Clean1         |  133.8   19.2 |  133.0   16.7 |  140.6   18.7 |  135.2   17.3 |   59.1    6.0
 2 Australian     |  142.9   46.1 |  147.3   43.3 |  139.0   53.3 |  128.7   40.3 |   84.4   11.8
 2 German         |  280.9   42.2 |  285.8   43.5 |  270.5   43.5 |  285.9   44.1 |  192.7   12.2
 2 Krvskp         |  801.5  120.5 |  803.6   55.7 |  855.9  163.6 |  764.5  110.4 |   67.8   27.6
 2 Heart-statlog  |   50.5   12.9 |   51.4   10.8 |   47.6   12.6 |   46.4   12.5 |   34.1    5.0
 2 Diabetes       |  234.2   36.6 |  261.8   20.8 |  207.6   21.1 |  188.6   25.6 |  139.0   11.0
 2 Ionosphere     |   83.7   23.9 |   97.9   18.8 |   64.1   19.4 |   63.8   19.2 |   39.8    5.2
 2 Liver          |   99.9    4.7 |   99.4    4.4 |  130.1   12.4 |  103.0    7.1 |   97.2    6.7
 2 Echocardiogram |   24.6    3.8 |   24.8    3.8 |   24.5    3.7 |   24.6    3.7 |   20.8    4.8
 2 Spectf         |   90.4   12.6 |   94.5   10.6 |   87.2   14.5 |   84.2   15.9 |   47.5    6.3
 2 Heart          |   65.5   12.4 |   70.2    9.8 |   43.6   10.0 |   48.8   12.2 |   33.1    5.1
 2 House          |   14.5    4.7 |   13.5    4.3 |   13.5    6.0 |   12.7    4.4 |    5.8    2.8
 2 Wdbc           |  105.5    5.4 |  107.0    6.0 |   57.5   14.3 |   56.9   10.2 |   24.2    4.5
 2 Isolet         |   30.8   16.2 |   28.1   12.3 |    4.7    5.6 |    4.8    3.7 |    1.5    1.8
 2 Optdigits      |   35.8   33.1 |   19.1   17.7 |   10.3    9.8 |   14.8   16.0 |    0.8    0.8
 2 Vehicle        |   97.7   13.4 |  100.4   12.2 |  114.8   16.1 |   97.4   23.2 |   27.5    5.0
 2 Sat            |   39.1   69.4 |   15.5    5.8 |    8.8    7.7 |   20.5   45.5 |    3.6    1.5
 5 House-votes    |   91.6   40.0 |   86.4   36.9 |  137.0   27.4 |   83.8   27.0 |   35.8   11.7
 5 Clean1         |  237.0   64.5 |  227.3   56.2 |  263.0   42.8 |  216.3   35.9 |   87.7   13.0
 5 Australian     |  305.1  117.5 |  286.2  113.3 |  297.4  104.1 |  239.0   67.7 |  119.1   18.9
 5 German         |  475.3   79.8 |  472.5   72.7 |  443.5   81.3 |  428.9   85.5 |  300.6   23.5
 5 Krvskp         |   1592    356 |   1054    246 |   1681    339 |   1326    219 |   70.1   14.8
 5 Heart-statlog  |   98.2   32.4 |   94.6   28.1 |  103.6   31.3 |   85.9   25.8 |   58.7   12.4
 5 Diabetes       |  263.6   46.1 |  254.6   21.3 |  433.9   46.9 |  299.5   64.9 |  177.6   13.7
 5 Ionosphere     |  182.4   64.1 |  202.8   64.0 |  140.9   36.7 |  124.5   33.0 |   76.7   15.6
 5 Liver          |   99.7    5.0 |   99.4    4.5 |  241.2   33.6 |  109.2   17.5 |   99.1    4.2
 5 Echocardiogram |   53.7   13.1 |   54.1   12.9 |   55.4   12.0 |   53.1   13.0 |   32.6    8.7
 5 Spectf         |  102.2   40.5 |  112.3   32.7 |  185.8   28.1 |  106.7   46.4 |   62.6   12.2
 5 Heart          |   72.6    9.5 |   73.4    4.9 |   82.7   21.4 |   69.0    8.8 |   51.8    9.7
 5 House          |   24.2   11.1 |   22.3    9.5 |   21.3   12.5 |   17.6    7.4 |    9.8    5.7
 5 Wdbc           |  106.0    5.4 |  107.0    6.0 |  132.3   47.0 |   77.2   10.8 |   32.9    6.2
 5 Isolet         |   64.0   40.7 |   52.5   26.8 |   10.7   13.9 |   17.4   14.5 |    3.0    4.3
 5 Optdigits      |   77.7   84.2 |   41.7   44.9 |   19.7   21.7 |   27.7   31.4 |    1.1    1.5
 5 Vehicle        |  119.9   38.8 |  118.8   30.5 |  215.2   45.9 |  125.0   48.1 |   37.3    5.4
 5 Sat            |   81.0  160.0 |   23.9    8.6 |   16.2   16.0 |   33.5   64.1 |    6.2    4.2
10 House-votes    |  172.8   83.2 |  158.2   79.9 |  269.9   53.8 |  146.5   48.0 |   54.6   18.9
10 Clean1         |  409.0  144.2 |  385.1  126.0 |  467.0   84.4 |  343.3   73.4 |  125.5   34.0
10 Australian     |  575.4  238.4 |  521.2  237.3 |  562.9  192.9 |  416.8  121.7 |  159.6   35.1
10 German         |  799.3  171.8 |  783.5  174.1 |  731.8  145.9 |  642.9  153.8 |  393.0   53.6
10 Krvskp         |   2909    774 |   1494    676 |   3067    645 |   2202    418 |   89.2   25.4
10 Heart-statlog  |  175.2   69.2 |  165.1   61.3 |  194.6   59.1 |  138.7   39.4 |   80.2   18.8
10 Diabetes       |  332.5  144.0 |  281.7   72.4 |  804.4  138.3 |  424.2  122.8 |  243.4   13.8
10 Ionosphere     |  353.4  135.2 |  384.2  144.7 |  271.1   71.8 |  210.6   46.3 |  134.7   31.8
10 Liver          |  100.5    7.0 |   99.9    5.7 |  381.0   66.9 |  115.4   29.9 |   99.1    4.2
10 Echocardiogram |   91.3   25.6 |   92.0   26.1 |  106.8   26.3 |   94.3   29.5 |   51.0   13.6
10 Spectf         |  151.1   81.8 |  149.3   75.8 |  348.9   56.4 |  132.5   62.6 |   69.2   17.6
10 Heart          |   79.8   21.6 |   75.4    6.6 |  144.0   37.8 |   74.5    7.6 |   72.7    8.5
10 House          |   40.4   22.6 |   36.9   18.8 |   34.3   23.9 |   24.8   12.1 |   15.5   10.9
10 Wdbc           |  106.2    5.2 |  107.0    6.0 |  243.0   95.0 |   87.1   11.6 |   39.8   10.1
10 Isolet         |  119.3   83.1 |   92.8   55.0 |   20.7   27.8 |   32.9   20.4 |    5.7    8.6
10 Optdigits      |  147.5  169.9 |   79.4   90.6 |   35.4   44.0 |   43.0   55.5 |    1.6    2.9
10 Vehicle        |  157.8   91.3 |  147.1   75.9 |  361.6   97.8 |  174.9   96.1 |   45.3    6.4
10 Sat            |  151.6  313.8 |   35.1   13.5 |   28.8   32.8 |   52.1   95.2 |   10.2    8.3
 U House-votes    |   8176   6589 |   6552   6137 |  11944   7186 |   6497   4809 |   1785   1526
 U Clean1         |  18495  12512 |  15756  12397 |  19914  12190 |  14457   9092 |   4837   3291
 U Australian     |  24311  19862 |  17223  14901 |  20773  17909 |  16445  13419 |   2797   2448
 U German         |  32154  23384 |  30758  23289 |  26700  17656 |  20503  14557 |   7384   5398
 U Krvskp         | 131953  86420 |  45502  73995 | 130362  93229 |  91600  51807 |   1854   1841
 U Heart-statlog  |   7051   6294 |   5468   4982 |   8008   6703 |   4769   3634 |   1342   1391
 U Diabetes       |   6474  10426 |   3202   7027 |  36729  19351 |  10791   8669 |  249.6    6.7
 U Ionosphere     |  19449  13426 |  18331  14107 |  12776   7943 |   8628   5569 |   5458   3689
 U Liver          |  178.0  424.3 |  150.3  270.1 |  10393   9542 |  507.5 1382.3 |  100.3    4.2
 U Echocardiogram |   3332   2669 |   3330   3001 |   3944   3233 |   2842   2367 |  612.0  902.0
 U Spectf         |   6240   7798 |   4255   6364 |  16130  10401 |   3165   3507 |  984.2 1428.0
 U Heart          |  570.0 1231.1 |  148.0  271.9 |   5220   4425 |  172.6  492.2 |  401.3  711.3
 U House          |   1493   1489 |   1244    949 |   1124   1230 |  793.2  877.1 |  519.9  685.8
 U Wdbc           |  106.6   15.6 |  107.0    6.0 |  10339   8621 |  209.2  264.5 |  301.0  534.0
 U Isolet         |   5804   6623 |   4277   4867 |   1279   2463 |  578.8  789.2 |  292.3  457.3
 U Optdigits      |   7206   9771 |   5599   7242 |   2018   3304 |   1484   2859 |   69.2  203.2
 U Vehicle        |   4819   6917 |   2729   4630 |  13917   8221 |   4612   5851 |   61.6   94.9
 U Sat            |   4452   7564 |  958.1  874.2 |  773.1 1280.5 |   1098   2038 |  351.6  441.3
"""
# set, rows | seconds of Laplacian SVM | TSVM | CS4VM
TABLE_3 = """
Heart       270 | 0.13 0.23 |  1.44 0.04 | 0.09 0.04
Wdbc        569 | 0.32 0.34 |  4.69 0.07 | 0.20 0.03
Australian  690 | 0.26 0.31 |  4.27 0.09 | 0.12 0.04
Optdigits  1143 | 0.49 0.37 | 28.39 0.08 | 0.18 0.05
Sat        3041 | 4.50 1.05 | 63.73 0.34 | 1.01 0.06
Krvskp     3196 | 5.92 1.11 | 11.76 0.11 | 1.01 0.05
"""
FEWER_EXPECTED = {"German": 15, "Optdigits": 15, "Krvskp": 8, "Sat": 8}  # draws of the slow columns

COSTS = ("2", "5", "10", "U")
GUESSED = "the pair of classes is inferred and the features are the raw ones: a guess"
# the paper's name: ours, positives among the ten labels, what is wrong with our copy
SETS: dict[str, tuple[str, int, str]] = {
    "House-votes": ("house-votes", 5, ""),
    "Clean1": ("clean1", 5, ""),
    "Australian": ("australian", 5, ""),
    "German": ("german", 5, ""),
    "Krvskp": ("krvskp", 5, ""),
    "Heart-statlog": ("heart-statlog", 4, ""),
    "Diabetes": ("diabetes", 3, ""),
    "Ionosphere": ("ionosphere", 3, ""),
    "Liver": ("liver-disorders", 4, ""),
    "Echocardiogram": ("echocardiogram", 1, ""),
    "Spectf": ("spectf", 2, ""),
    "Heart": ("heart", 5, ""),
    "House": ("house", 5, ""),
    "Wdbc": ("wdbc", 5, ""),
    "Isolet": ("isolet", 5, ""),
    "Optdigits": ("optdigits", 5, GUESSED),
    "Vehicle": ("vehicle", 5, GUESSED + "; bus against saab does not fit at all"),
    "Sat": ("sat", 5, GUESSED),
}
FAITHFUL = tuple(name for name, (_, _, doubt) in SETS.items() if not doubt)
QUICK_SETS = (
    *("Heart", "House", "Wdbc", "Diabetes", "Ionosphere"),
    *("Liver", "Heart-statlog", "House-votes"),
)
QUICK_COSTS = ("2", "10")
LINEAR: dict[str, Any] = {"kernel": "linear", "C": 1.0}
METHODS: dict[str, tuple[str, dict[str, Any]]] = {
    "CS-SVM": ("supervised", LINEAR),
    "Laplacian SVM": ("laplacian", LINEAR | {"n_neighbors": 6, "power": 1, "C_intrinsic": 0.1}),
    "TSVM": ("transductive", LINEAR | {"costs_on": "labeled"}),
    "CS4VM": ("label-mean", LINEAR | {"C_unlabeled": 0.1}),
    "ground truth CS-SVM": ("oracle", LINEAR),
}
SELDOM = ("TSVM", "Laplacian SVM")  # repeated 30 times at "U" too
CONSTANTS = {
    "always positive": "cost_positive",
    "the cheaper constant, by the labels": "cost_constant",
}
REPEATS = {"table-1": 100, "table-2": 30}  # as in the paper
QUICK_REPEATS = 10
LAPLACIAN = (
    "the paper says nothing about graph or weight, and its column mixes always positive with always"
    " negative in equal shares at every cost, which no SVM with a correct bias gives"
)
REBUILT = "the authors' projected file is not public; ours is rebuilt by principal components"
LOCAL_MINIMA = "TSVM ends in local minima, and another implementation ends in others"
BUSY = "a few milliseconds on a machine that was busy at the time"
TSVM_SLACK = 0.15
# seconds of a whole fit that were promised: column, sets, bound
PROMISED = (
    ("CS4VM", ("Heart", "Wdbc", "Australian", "Optdigits"), 0.005),
    ("CS4VM", ("Sat", "Krvskp"), 0.15),
    ("Laplacian SVM", ("Sat", "Krvskp"), 0.5),
)
# The summary: most that mean |z| may be, least share of |z| below 2
NEARNESS = {
    "CS-SVM": (1.2, 0.85),
    "CS4VM": (1.2, 0.85),
    "ground truth CS-SVM": (1.2, 0.85),
    "TSVM": (1.5, 0.80),
}
RATIO = Reference(1.01, 0.06, "tolerance")
LEAST_WINS = {"2": 9, "5": 11, "10": 11, "U": 11}
MOST_LOSSES = {"2": 3, "5": 4, "10": 4, "U": 4}


def paper() -> Paper:
    """Return the paper with its tables."""
    lines = {name: [] for name in REPEATS}  # type: dict[str, list[Line]]
    for cost, name, values in _read(TABLES_1_AND_2):
        lines[_table(cost)] += _lines(cost, name, values)
    titles = {"table-1": "Total cost, U[0, 1000]", "table-2": "Total cost, 2, 5 and 10"}
    expected = tuple(_expected())
    differences = tuple(_differences())
    return Paper(
        "cs4vm",
        "Li, Kwok, Zhou (2010), Cost-sensitive semi-supervised support vector machine, AAAI",
        (
            *(
                Table(name, titles[name], tuple(lines[name]), REPEATS[name], QUICK_REPEATS)
                for name in REPEATS
            ),
            Table(
                "expected", "Means of our prototypes", expected, REPEATS["table-1"], QUICK_REPEATS
            ),
            Table("table-3", "Seconds per fit with ten labels", tuple(_seconds()), 10, 1),
            Table("differences", "CS4VM minus others", differences, REPEATS["table-1"]),
        ),
        holds=(
            "Tables 1 and 2 except for one column: CS-SVM, TSVM, CS4VM and the ground truth on the"
            " 15 sets that are believed to be the authors' own files.",
            "CS4VM costs less than the plain CS-SVM on most sets, at every cost.",
            "CS4VM is faster than TSVM and the Laplacian SVM (Table 3).",
        ),
        fails=(
            "The Laplacian SVM column, which can't come from an SVM with a correct bias.",
            "The lead at large costs. Always answering positive beats the published CS4VM on 12 of"
            " the 15 sets at a cost of 10 and on all 15 in Table 1, where it beats the published"
            " ground truth on 14. Up to a cost of about 5 CS4VM is useful.",
            "Significance set by set: repetitions are halves of the same rows. With the variance"
            " corrected for that (Nadeau and Bengio) hardly any set is won or lost; the direction"
            " over all sets stays.",
        ),
        silent=(
            "Which class is positive, how many labeled rows of each class, the scaling of the"
            " features, that the last sets are projections of the public files. All were found by"
            " fit to these same tables.",
            "C of the ground truth and of TSVM's unlabeled rows (1, not C2).",
            "Equation 9 as printed lacks a factor: trained with it, costs come out several times"
            " the published ones.",
            "All constant baselines.",
        ),
        derive=derive,
    )


def _read(text: str) -> Iterator[tuple[str, str, dict[str, tuple[float, float]]]]:
    """Yield cost, set and {column: (mean, standard deviation)}."""
    for cost, name, *words in read_table(text):
        pairs = zip(COLUMNS, zip(words[::2], words[1::2], strict=True), strict=True)
        yield cost, name, {column: (float(a), float(b)) for column, (a, b) in pairs if a != "-"}


def task(name: str, cost: str, column: str, **more: Any) -> Task:
    """Return the task of a set, a cost and a column."""
    data, positive, _ = SETS[name]
    method, params = METHODS[column]
    price: float | str = "uniform" if cost == "U" else float(cost)
    return Task(data, method, {"positive": positive, "cost": price}, params | more)


def _table(cost: str) -> str:
    return "table-1" if cost == "U" else "table-2"


def _setting(cost: str, name: str) -> str:
    return f"{name}, cost {'U[0, 1000]' if cost == 'U' else cost}"


def _is_quick(cost: str, name: str, column: str) -> bool:
    return cost in QUICK_COSTS and name in QUICK_SETS and column != "Laplacian SVM"


def _note(name: str, column: str) -> str:
    return SETS[name][2] or (LOCAL_MINIMA if column == "TSVM" else "")


def _lines(cost: str, name: str, values: dict[str, tuple[float, float]]) -> Iterator[Line]:
    table, setting = _table(cost), _setting(cost, name)
    for column in METHODS:
        note = _note(name, column) or (REBUILT if name == "Wdbc" else "")
        yield Line(
            table,
            setting,
            column,
            "cost",
            task(name, cost, column),
            Reference(*values[column]) if column in values else None,
            note=LAPLACIAN if column == "Laplacian SVM" else note,
            quick=_is_quick(cost, name, column),
            seeds=REPEATS["table-2"] if column in SELDOM else None,
        )
    for label, measure in CONSTANTS.items():
        quick = _is_quick(cost, name, "CS-SVM")
        yield Line(table, setting, label, measure, task(name, cost, "CS-SVM"), quick=quick)


def _expected() -> Iterator[Line]:
    for cost, name, values in _read(EXPECTED):
        for column, (mean, sd) in values.items():
            repeats = 30 if cost != "U" or name in ("Krvskp", "Sat") else 100
            if column in SELDOM:
                repeats = FEWER_EXPECTED.get(name, 30)
            slack = TSVM_SLACK * mean if column == "TSVM" else 0.0
            yield Line(
                "expected",
                _setting(cost, name),
                column,
                "cost",
                task(name, cost, column),
                Reference(mean, sd, "sampled", repeats=repeats, least=slack),
                note=_note(name, column),
                quick=_is_quick(cost, name, column),
                seeds=REPEATS["table-2"] if cost != "U" or column in SELDOM else None,
            )


def _seconds() -> Iterator[Line]:
    """The best of three fits at a cost of 10; the paper's machine is of 2010."""
    for name, _, *words in read_table(TABLE_3):
        for at, column in enumerate(("Laplacian SVM", "TSVM", "CS4VM")):
            theirs = Reference(float(words[2 * at]), float(words[2 * at + 1]), "shown")
            cell = task(name, "10", column, repeats=3)
            yield Line("table-3", name, column, "seconds", cell, theirs)
    for column, names, bound in PROMISED:
        for name in names:
            theirs = Reference(bound, kind="at most")
            cell = task(name, "10", column, repeats=3)
            more: dict[str, Any] = {"mark": "promised", "note": BUSY, "steady": False}
            yield Line("table-3", name, column, "seconds", cell, theirs, **more)


def _differences() -> Iterator[Line]:
    """The cost of CS4VM minus that of others, seed by seed: what wins and losses are counted from."""
    opponents = [(column, column, "cost") for column in ("CS-SVM", "TSVM", "Laplacian SVM")]
    opponents += [(label, "CS-SVM", measure) for label, measure in CONSTANTS.items()]
    for cost in COSTS:
        for name in SETS:
            ours = task(name, cost, "CS4VM")
            for label, column, measure in opponents:
                yield Line(
                    "differences",
                    _setting(cost, name),
                    f"CS4VM minus {label}",
                    "cost",
                    ours,
                    against=task(name, cost, column),
                    against_measure=measure,
                    seeds=REPEATS["table-2"] if cost != "U" or column in SELDOM else None,
                )


# ---- what the cells say together ----


def derive(found: Found, quick: bool) -> dict[Line, Summary]:
    """Return how near the columns are to the paper, and on how many sets CS4VM wins."""
    made: dict[Line, Summary] = {}

    def judge(setting: str, method: str, measure: str, value: float, theirs: Reference) -> None:
        line = Line("summary", setting, method, measure, None, theirs, quick=True)
        made[line] = summarize([value])

    names, costs = (QUICK_SETS, QUICK_COSTS) if quick else (FAITHFUL, COSTS)
    for column, (most_z, least_share) in NEARNESS.items():
        pairs = list(_pairs(found, names, costs, column))
        if len(pairs) < len(names) * len(costs):
            continue
        ratio, z = np.array(pairs).T
        setting = f"{len(names)} sets, cost {', '.join(costs)}"
        judge(setting, column, "median ratio to the paper", float(np.median(ratio)), RATIO)
        if quick:  # with few repetitions only the ratio says anything
            continue
        mean_z, share = float(z.mean()), float(np.mean(z < 2))
        at_most = Reference(most_z, kind="at most")
        judge(setting, column, "mean |z| against the paper", mean_z, at_most)
        at_least = Reference(least_share, kind="at least")
        judge(setting, column, "share of |z| below 2", share, at_least)
    for cost in () if quick else COSTS:
        wins = count_wins(found, cost, "CS-SVM")
        if wins is not None:
            setting, label = f"{len(SETS)} sets, cost {cost}", "CS4VM against CS-SVM"
            judge(setting, label, "wins", wins[0], Reference(LEAST_WINS[cost], kind="at least"))
            judge(setting, label, "losses", wins[2], Reference(MOST_LOSSES[cost], kind="at most"))
    return made


def _pairs(
    found: Found, names: tuple[str, ...], costs: tuple[str, ...], column: str
) -> Iterator[tuple[float, float]]:
    """Yield our mean over the published one, and their distance in standard errors."""
    for cost, name, values in _read(TABLES_1_AND_2):
        ours = found.get(f"{_table(cost)} | {_setting(cost, name)} | {column} | cost")
        if name in names and cost in costs and column in values and ours is not None and ours.n > 1:
            mean, sd = values[column]
            error = np.sqrt(ours.sd**2 / ours.n + sd**2 / REPEATS[_table(cost)])
            yield ours.mean / mean, abs(ours.mean - mean) / error


def count_wins(
    found: Found, cost: str, opponent: str, *, corrected: bool = False
) -> tuple[int, int, int] | None:
    """Return on how many sets CS4VM costs significantly less, undecided, more; None if not all ran.

    The paper's paired t-test takes repetitions for independent, although they are halves of the
    same rows; the corrected one of Nadeau and Bengio has the variance s^2 (1/R + n_test/n_train).
    """
    signs = []
    for name in SETS:
        less = found.get(f"differences | {_setting(cost, name)} | CS4VM minus {opponent} | cost")
        if less is None or less.n < 2:
            return None
        error = less.sd * np.sqrt(1 / less.n + (1.0 if corrected else 0.0))
        p_value = 2 * student.sf(abs(less.mean) / error, less.n - 1) if error else 0.0
        signs.append(int(np.sign(less.mean)) if p_value < 0.05 else 0)
    return signs.count(-1), signs.count(0), signs.count(1)
