/** Yields the first `limit` items, or all items if `limit` is 0. */
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
