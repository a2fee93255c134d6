import t from 'tap'
import { createGroupCommit } from '../../../lib/async/batcher.ts'

interface Item {
  readonly name: string
  readonly bytes: number
}

const item = (name: string, bytes = 1): Item => ({ name, bytes })

/** A queue whose commits the test completes. */
function open(maxWaitingBytes?: number) {
  const commits: { names: string[]; done: (error?: Error) => void }[] = []
  const queue = createGroupCommit<Item, string>({
    commit: (items) =>
      new Promise((resolve, reject) => {
        const names = items.map(({ name }) => name)
        const done = (error?: Error): void =>
          error === undefined ? resolve(names.map((name) => `${name}!`)) : reject(error)
        commits.push({ names, done })
      }),
    sizeOf: ({ bytes }) => bytes,
    toOverflowError: () => new Error('too much'),
    ...(maxWaitingBytes !== undefined && { maxWaitingBytes }),
  })
  const next = async () => {
    while (commits.length === 0) await new Promise(setImmediate)
    return commits.shift()!
  }
  return { queue, next }
}

t.test('items of one tick are one commit; items added during it are the next commit', async (t) => {
  const { queue, next } = open()
  const first = ['a', 'b', 'c'].map((name) => queue.push(item(name)))
  const firstBatch = await next()
  t.strictSame(firstBatch.names, ['a', 'b', 'c'])
  const second = ['d', 'e'].map((name) => queue.push(item(name)))
  firstBatch.done()
  t.strictSame(await Promise.all(first), ['a!', 'b!', 'c!'])
  const secondBatch = await next()
  t.strictSame(secondBatch.names, ['d', 'e'])
  secondBatch.done()
  t.strictSame(await Promise.all(second), ['d!', 'e!'])
})

t.test(
  'a commit has at most 2000 items and 16 MiB; other items wait for the next one',
  async (t) => {
    const { queue, next } = open()
    const all = Array.from({ length: 4500 }, (_, i) => queue.push(item(String(i))))
    for (const length of [2000, 2000, 500]) {
      const { names, done } = await next()
      t.equal(names.length, length)
      done()
    }
    t.equal((await Promise.all(all)).length, 4500)
    const long = Array.from({ length: 40 }, (_, i) => queue.push(item(String(i), 1024 * 1024)))
    for (const length of [16, 16, 8]) {
      const { names, done } = await next()
      t.equal(names.length, length)
      done()
    }
    await Promise.all(long)
  },
)

t.test('the weight of an item counts toward the limit of a commit', async (t) => {
  const commits: number[] = []
  const queue = createGroupCommit<number, number>({
    commit: (items) => {
      commits.push(items.length)
      return items
    },
    sizeOf: () => 1,
    countOf: (count) => count,
    toOverflowError: () => new Error('too much'),
  })
  await Promise.all([500, 500, 500, 500, 5000, 1].map((count) => queue.push(count)))
  t.strictSame(commits, [4, 1, 1])
})

t.test('an item beyond the limit of pending bytes is rejected', async (t) => {
  const { queue, next } = open(1000)
  const first = queue.push(item('a', 2000))
  await t.rejects(queue.push(item('b')), { message: 'too much' })
  const firstBatch = await next()
  const second = queue.push(item('c'))
  firstBatch.done()
  await first
  const secondBatch = await next()
  t.strictSame(secondBatch.names, ['c'], 'items of the running commit do not count as waiting')
  secondBatch.done()
  await second
})

t.test('a failed commit rejects its items, and the next commit proceeds', async (t) => {
  const { queue, next } = open()
  const results = [queue.push(item('a')), queue.push(item('b'))]
  const failing = await next()
  failing.done(new Error('broken'))
  for (const firstBatch of results) await t.rejects(firstBatch, { message: 'broken' })
  const after = queue.push(item('c'))
  const commit = await next()
  commit.done()
  t.equal(await after, 'c!')
})

t.test('drained() resolves when no item is waiting or being committed', async (t) => {
  const { queue, next } = open()
  await queue.drained()
  const written = queue.push(item('a'))
  let isDrained = false
  const drained = queue.drained().then(() => {
    isDrained = true
  })
  const firstBatch = await next()
  t.notOk(isDrained)
  firstBatch.done()
  await written
  await drained
  t.ok(isDrained)
})

t.test('an error returned for one item rejects that item only', async (t) => {
  const queue = createGroupCommit<Item, string>({
    commit: (items) => items.map(({ name }) => (name === 'b' ? new Error('not b') : `${name}!`)),
    sizeOf: ({ bytes }) => bytes,
    toOverflowError: () => new Error('too much'),
  })
  const [a, b, c] = ['a', 'b', 'c'].map((name) => queue.push(item(name)))
  await t.rejects(b!, { message: 'not b' })
  t.strictSame(await Promise.all([a, c]), ['a!', 'c!'])
})
