// Names beside points, without covering each other.

export interface Named {
  x: number;
  y: number;
  width: number;
  height: number;
  clear: number; // distance from the point to its name
}

interface Box {
  left: number;
  top: number;
  width: number;
  height: number;
}

/** For each point where its name begins (left, middle); null = no room. */
export function place(points: Named[], within: Box): ({ x: number; y: number } | null)[] {
  const taken: Box[] = points.map((p) => ({ left: p.x - p.clear * 0.6, top: p.y - p.clear * 0.6, width: p.clear * 1.2, height: p.clear * 1.2 }));
  return points.map((p) => {
    const { clear, width, height } = p;
    // Corners first: intervals and fronts run up, down and to the sides.
    const ways: [number, number][] = [
      [p.x + clear * 0.7, p.y - clear],
      [p.x + clear * 0.7, p.y + clear],
      [p.x - clear * 0.7 - width, p.y - clear],
      [p.x - clear * 0.7 - width, p.y + clear],
      [p.x + clear, p.y],
      [p.x - clear - width, p.y],
      [p.x - width / 2, p.y - clear - height / 2],
      [p.x - width / 2, p.y + clear + height / 2],
      [p.x - width / 2, p.y - 2 * clear - height / 2],
      [p.x - width / 2, p.y + 2 * clear + height / 2],
    ];
    for (const [x, y] of ways) {
      const box = { left: x, top: y - height / 2, width, height };
      if (inside(box, within) && !taken.some((other) => overlap(box, other))) {
        taken.push(box);
        return { x, y };
      }
    }
    return null;
  });
}

function inside(a: Box, b: Box): boolean {
  return a.left >= b.left && a.top >= b.top && a.left + a.width <= b.left + b.width && a.top + a.height <= b.top + b.height;
}

function overlap(a: Box, b: Box): boolean {
  return a.left < b.left + b.width && b.left < a.left + a.width && a.top < b.top + b.height && b.top < a.top + a.height;
}
