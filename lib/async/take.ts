/** The first of what comes, and then leaves; with a limit of 0 all. */
export async function* take<T>(
  items: AsyncIterable<T>,
  limit: number,
): AsyncGenerator<T, void, undefined> {
  let taken = 0
  for await (const item of items) {
    yield item
    if (++taken === limit) return
  }
}
