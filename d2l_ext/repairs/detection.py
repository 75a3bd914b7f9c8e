"""Chapter 13: bounding boxes and anchors.

Boxes are tensors (n, 4): left, top, right, bottom; or centre, width and height.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .._paddle import paddle
from ._table import EVERYWHERE, NOT_PADDLE_3_0, PADDLE_2, PADDLE_3, Repair, book


def box_corner_to_center(boxes: paddle.Tensor) -> paddle.Tensor:
    """Return (n, 4) centres, widths and heights of boxes given by corners.

    Book: section 13.3.
    """
    boxes = _floats(boxes)
    start, end = boxes[:, :2], boxes[:, 2:]
    return paddle.concat([(start + end) / 2, end - start], axis=1)


def box_center_to_corner(boxes: paddle.Tensor) -> paddle.Tensor:
    """Return (n, 4) corners of boxes given by centre, width and height.

    Book: section 13.3.
    """
    boxes = _floats(boxes)
    center, half = boxes[:, :2], boxes[:, 2:] * 0.5
    return paddle.concat([center - half, center + half], axis=1)


def _floats(X: paddle.Tensor) -> paddle.Tensor:
    return X if X.is_floating_point() else X.astype("float32")


def multibox_prior(
    data: paddle.Tensor, sizes: Sequence[float], ratios: Sequence[float]
) -> paddle.Tensor:
    """Return the anchors around each pixel, (1, height * width * k, 4).

    Book: section 13.4. k is len(sizes) + len(ratios) - 1: the first ratio with every
    size, then the first size with every other ratio.

    Args:
        data: tensor (…, height, width), of which only the shape counts.
        sizes: the scales, numbers from 0 to 1.
        ratios: width to height, positive numbers.
    """
    height, width = data.shape[-2:]
    pairs = [(s, ratios[0]) for s in sizes] + [(sizes[0], r) for r in ratios[1:]]
    s, r = paddle.to_tensor(pairs, dtype="float32", place=data.place).unbind(axis=1)
    w, h = s * paddle.sqrt(r) * (height / width), s / paddle.sqrt(r)
    around = paddle.stack([-w, -h, w, h], axis=1) / 2
    y = (paddle.arange(height, dtype="float32") + 0.5) / height
    x = (paddle.arange(width, dtype="float32") + 0.5) / width
    y, x = paddle.meshgrid(y, x)
    centers = paddle.stack([x, y, x, y], axis=-1).reshape([-1, 1, 4])
    return (centers + around).reshape([1, -1, 4])


def assign_anchor_to_bbox(
    ground_truth: paddle.Tensor,
    anchors: paddle.Tensor,
    place: Any,
    iou_threshold: float = 0.5,
) -> paddle.Tensor:
    """Return for each anchor the number of its true box, or -1, int64 (anchors,).

    Book: section 13.4. Each true box first gets the free anchor that fits it best;
    other anchors get the box they fit best, if that is well enough.

    Args:
        ground_truth: the true boxes (boxes, 4).
        anchors: (anchors, 4).
        place: not used; everything stays where the anchors are.
        iou_threshold: the least overlap for those others, intersection over union.
    """
    overlap = book().box_iou(anchors, ground_truth).numpy().copy()
    assigned = overlap.argmax(axis=1)
    assigned[overlap.max(axis=1) < iou_threshold] = -1
    for _ in range(ground_truth.shape[0]):
        anchor, box = divmod(int(overlap.argmax()), ground_truth.shape[0])
        assigned[anchor] = box
        overlap[anchor, :] = overlap[:, box] = -1
    return paddle.to_tensor(assigned, dtype="int64", place=anchors.place)


def offset_inverse(
    anchors: paddle.Tensor, offset_preds: paddle.Tensor
) -> paddle.Tensor:
    """Return the boxes (n, 4) at the predicted offsets (n, 4) from the anchors (n, 4).

    Book: section 13.4; by corners, as are the anchors.
    """
    centers = book().box_corner_to_center(anchors)
    offsets = offset_preds.astype(centers.dtype)
    xy = centers[:, :2] + offsets[:, :2] * centers[:, 2:] / 10
    wh = centers[:, 2:] * paddle.exp(offsets[:, 2:] / 5)
    return book().box_center_to_corner(paddle.concat([xy, wh], axis=1))


def multibox_detection(
    cls_probs: paddle.Tensor,
    offset_preds: paddle.Tensor,
    anchors: paddle.Tensor,
    nms_threshold: float = 0.5,
    pos_threshold: float = 0.009999999,
) -> paddle.Tensor:
    """Return the detected boxes (batch, anchors, 6): class, confidence, corners.

    Book: section 13.4. Boxes that overlap a better one, or whose confidence is below
    pos_threshold, are of class -1, the background. The better ones come first, by
    confidence, then those that were dropped.

    Args:
        cls_probs: (batch, classes + 1, anchors), the background first.
        offset_preds: (batch, anchors * 4).
        anchors: (1, anchors, 4).
        nms_threshold: the overlap above which only the better of two boxes is kept.
        pos_threshold: the least confidence of a box that is no background.
    """
    detected = []
    for probs, offsets in zip(cls_probs, offset_preds):
        boxes = book().offset_inverse(anchors[0], offsets.reshape([-1, 4]))
        confidence, classes = probs[1:].max(axis=0), probs[1:].argmax(axis=0)
        keep = book().nms(boxes, confidence, nms_threshold).tolist()
        dropped = sorted(set(range(boxes.shape[0])) - set(keep))
        order = paddle.to_tensor(keep + dropped, dtype="int64", place=boxes.place)
        confidence = paddle.gather(confidence, order)
        weak = confidence < pos_threshold
        rank = paddle.arange(boxes.shape[0])
        background = paddle.logical_or(weak, rank >= len(keep))
        classes = paddle.gather(classes, order).astype(boxes.dtype)
        classes = paddle.where(background, paddle.full_like(classes, -1), classes)
        confidence = paddle.where(weak, 1 - confidence, confidence)
        columns = paddle.stack([classes, confidence.astype(boxes.dtype)], axis=1)
        boxes = paddle.gather(boxes, order)
        detected.append(paddle.concat([columns, boxes], axis=1))
    return paddle.stack(detected)


REPAIRS = (
    Repair(
        "offset_inverse",
        "13.4",
        "Fails on integer offsets, as the book's own zeros are.",
        PADDLE_3,
        offset_inverse,
    ),
    Repair(
        "multibox_detection",
        "13.4",
        "Fails where no box overlaps another (Paddle 3), or where several are below "
        "the threshold (Paddle 2.6).",
        NOT_PADDLE_3_0,
        multibox_detection,
    ),
    Repair(
        "assign_anchor_to_bbox",
        "13.4",
        "Takes 0.5 whatever iou_threshold says; numbers boxes by a float32 division.",
        EVERYWHERE,
        assign_anchor_to_bbox,
    ),
    Repair(
        "multibox_prior",
        "13.4",
        "Fails on integer sizes or ratios.",
        PADDLE_2,
        multibox_prior,
    ),
    Repair(
        "box_corner_to_center",
        "13.3",
        "Fails on integer boxes, as pixels are.",
        EVERYWHERE,
        box_corner_to_center,
    ),
    Repair(
        "box_center_to_corner",
        "13.3",
        "Fails on integer boxes.",
        PADDLE_3,
        box_center_to_corner,
    ),
)
