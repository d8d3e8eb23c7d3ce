"""The harness of bench/: what is measured (table), with what (libraries, building), how (measuring), and how it is told
(report, picture). bench/run.py is the way in."""
