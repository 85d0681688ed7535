"""Files in and out: the release layout of RealWebAssist, COCO, YOLO, Pascal VOC, labelme and CSV, both ways.

========  =========================  ======================================  ===============================
format    a box                      no click / not looked at yet            the words of a step
========  =========================  ======================================  ===============================
native    x, y, width, height        ``null`` / no field                     all; transcripts in other files
coco      x, y, width, height        our own field; others see no boxes      our own field
yolo      centre and size / picture  an empty label file / none              none
voc       four edges, from 0 or 1    a file without objects / none           ``verified`` only
labelme   two corners                a file without shapes / none            our own field
csv       x, y, width, height        a column                                all
========  =========================  ======================================  ===============================

Everywhere a pixel is one of the upright picture, edges count from 0 at the outer edge of the first pixel, and the
right edge is ``x + width``: a box of 10 pixels from the left side is 0 to 10. Where a format counts otherwise, its
module says how. :mod:`annotate.formats.reading` and :mod:`annotate.formats.writing` are the way in and out.
"""
