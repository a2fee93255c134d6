import t from 'tap'
import type { StoreAdapter, StoreGroup, StoreOutcome } from '../../../core/contracts/store.ts'
import { createCommitQueue } from '../../../core/store/commit-queue.ts'

const TABLE = { database: 'mx', table: 'things' }

function group(key: string, value: Uint8Array | undefined = new Uint8Array(1)): StoreGroup {
  return [{ table: TABLE, key, value, metadata: {}, expiresMs: 0, ifVersion: undefined }]
}

/** Commits that are done when the test says so. */
function open(maxWaitingBytes?: number) {
  const commits: { keys: string[]; done: (error?: Error) => void }[] = []
  const adapter = {
    commit: (groups: readonly StoreGroup[]) =>
      new Promise<StoreOutcome[]>((resolve, reject) => {
        const keys = groups.map(([change]) => change!.key)
        const done = (error?: Error): void =>
          error === undefined ? resolve(keys.map((_, i) => [i + 1])) : reject(error)
        commits.push({ keys, done })
      }),
  } as unknown as StoreAdapter
  const queue = createCommitQueue(adapter, {
    nowMs: () => 0,
    ...(maxWaitingBytes !== undefined && { maxWaitingBytes }),
  })
  const next = async () => {
    while (commits.length === 0) await new Promise(setImmediate)
    return commits.shift()!
  }
  return { queue, next, commits }
}

t.test('what comes in one turn is one commit, and what comes during it is the next', async (t) => {
  const { queue, next } = open()
  const first = ['a', 'b', 'c'].map((key) => queue.push(group(key)))
  const one = await next()
  t.strictSame(one.keys, ['a', 'b', 'c'])
  const second = ['d', 'e'].map((key) => queue.push(group(key)))
  one.done()
  t.strictSame(await Promise.all(first), [[1], [2], [3]])
  const two = await next()
  t.strictSame(two.keys, ['d', 'e'])
  two.done()
  t.strictSame(await Promise.all(second), [[1], [2]])
})

t.test('a commit has a size: the rest has to wait for the next', async (t) => {
  const { queue, next } = open()
  const all = Array.from({ length: 4500 }, (_, i) => queue.push(group(String(i))))
  for (const length of [2000, 2000, 500]) {
    const { keys, done } = await next()
    t.equal(keys.length, length)
    done()
  }
  t.equal((await Promise.all(all)).length, 4500)
  const long = Array.from({ length: 40 }, (_, i) =>
    queue.push(group(String(i), new Uint8Array(1024 * 1024))),
  )
  const { keys, done } = await next()
  t.equal(keys.length, 16)
  done()
  for (const rest of [16, 8]) {
    const commit = await next()
    t.equal(commit.keys.length, rest)
    commit.done()
  }
  await Promise.all(long)
})

t.test('who comes when too much is waiting is refused', async (t) => {
  const { queue, next } = open(1000)
  const first = queue.push(group('a', new Uint8Array(2000)))
  await t.rejects(queue.push(group('b')), { code: 503, message: 'too many writes are waiting' })
  const one = await next()
  const second = queue.push(group('c'))
  one.done()
  await first
  const two = await next()
  t.strictSame(two.keys, ['c'], 'what is being committed waits no more')
  two.done()
  await second
})

t.test('a failure is told to all it concerns, and the next commit is another', async (t) => {
  const { queue, next } = open()
  const both = [queue.push(group('a')), queue.push(group('b'))]
  const failing = await next()
  failing.done(new Error('broken'))
  for (const one of both) await t.rejects(one, { message: 'broken' })
  const after = queue.push(group('c'))
  const commit = await next()
  commit.done()
  t.strictSame(await after, [1])
})

t.test('it is drained when nothing waits and nothing is being committed', async (t) => {
  const { queue, next } = open()
  await queue.drained()
  const written = queue.push(group('a'))
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
