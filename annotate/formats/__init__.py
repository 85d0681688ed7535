"""Files in and out: the release layout of RealWebAssist, COCO, YOLO and Pascal VOC, both ways."""
