/** Yields the first `limit` items; with 0 all. */
export async function* take<T>(
  items: AsyncIterable<T>,
  limit: number,
): AsyncGenerator<T, void, undefined> {
  let count = 0
  for await (const item of items) {
    yield item
    if (++count === limit) return
  }
}
