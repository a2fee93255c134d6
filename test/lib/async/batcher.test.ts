import t from 'tap'
import { createGroupCommit } from '../../../lib/async/batcher.ts'

interface Item {
  readonly name: string
  readonly bytes: number
}

const item = (name: string, bytes = 1): Item => ({ name, bytes })

/** Commits that are done when the test says so. */
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
    tooMuch: () => new Error('too much'),
    ...(maxWaitingBytes !== undefined && { maxWaitingBytes }),
  })
  const next = async () => {
    while (commits.length === 0) await new Promise(setImmediate)
    return commits.shift()!
  }
  return { queue, next }
}

t.test('what comes in one turn is one commit, and what comes during it is the next', async (t) => {
  const { queue, next } = open()
  const first = ['a', 'b', 'c'].map((name) => queue.push(item(name)))
  const one = await next()
  t.strictSame(one.names, ['a', 'b', 'c'])
  const second = ['d', 'e'].map((name) => queue.push(item(name)))
  one.done()
  t.strictSame(await Promise.all(first), ['a!', 'b!', 'c!'])
  const two = await next()
  t.strictSame(two.names, ['d', 'e'])
  two.done()
  t.strictSame(await Promise.all(second), ['d!', 'e!'])
})

t.test('a commit has a size: the rest has to wait for the next', async (t) => {
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
})

t.test('an item that is as much work as many counts as them', async (t) => {
  const commits: number[] = []
  const queue = createGroupCommit<number, number>({
    commit: (items) => {
      commits.push(items.length)
      return items
    },
    sizeOf: () => 1,
    countOf: (count) => count,
    tooMuch: () => new Error('too much'),
  })
  await Promise.all([500, 500, 500, 500, 5000, 1].map((count) => queue.push(count)))
  t.strictSame(commits, [4, 1, 1])
})

t.test('who comes when too much is waiting is refused', async (t) => {
  const { queue, next } = open(1000)
  const first = queue.push(item('a', 2000))
  await t.rejects(queue.push(item('b')), { message: 'too much' })
  const one = await next()
  const second = queue.push(item('c'))
  one.done()
  await first
  const two = await next()
  t.strictSame(two.names, ['c'], 'what is being committed waits no more')
  two.done()
  await second
})

t.test('a failure is told to all it concerns, and the next commit is another', async (t) => {
  const { queue, next } = open()
  const both = [queue.push(item('a')), queue.push(item('b'))]
  const failing = await next()
  failing.done(new Error('broken'))
  for (const one of both) await t.rejects(one, { message: 'broken' })
  const after = queue.push(item('c'))
  const commit = await next()
  commit.done()
  t.equal(await after, 'c!')
})

t.test('it is drained when nothing waits and nothing is being committed', async (t) => {
  const { queue, next } = open()
  await queue.drained()
  const written = queue.push(item('a'))
  let isDrained = false
  const drained = queue.drained().then(() => {
    isDrained = true
  })
  const one = await next()
  t.notOk(isDrained)
  one.done()
  await written
  await drained
  t.ok(isDrained)
})

t.test('an error that became of one is told to it alone', async (t) => {
  const queue = createGroupCommit<Item, string>({
    commit: (items) => items.map(({ name }) => (name === 'b' ? new Error('not b') : `${name}!`)),
    sizeOf: ({ bytes }) => bytes,
    tooMuch: () => new Error('too much'),
  })
  const [a, b, c] = ['a', 'b', 'c'].map((name) => queue.push(item(name)))
  await t.rejects(b!, { message: 'not b' })
  t.strictSame(await Promise.all([a, c]), ['a!', 'c!'])
})
