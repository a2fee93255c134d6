import t from 'tap'
import { createBatches, type Waiting } from '../../../services/config/keyed-batcher.ts'

type Item = Waiting<string, string>

/** Batches whose work waits until it is released. */
function open({ maxBatch = 10, maxWaitingBytes = 1_000_000 } = {}) {
  const log: string[] = []
  const gates: (() => void)[] = []
  let processBatch = (batch: readonly Item[]): void => {
    for (const { work, resolve } of batch) resolve(work.toUpperCase())
  }
  const batches = createBatches<string, string>({
    maxBatch,
    maxWaitingBytes,
    async run(name, batch) {
      log.push(`${name}: ${batch.map(({ work }) => work).join()}`)
      await new Promise<void>((resolve) => gates.push(resolve))
      processBatch(batch)
    },
  })
  return {
    batches,
    log,
    gates,
    /** Releases all work, current and future. */
    release: () => {
      for (const release of gates) release()
      gates.push = (release) => {
        release()
        return 0
      }
    },
    replaceWork: (other: typeof processBatch) => {
      processBatch = other
    },
  }
}

t.test('batches the work of a name in order, independent of other names', async (t) => {
  const { batches, log, release } = open()
  const all = ['a', 'b', 'c'].map((work) => batches.push('one', work, 0))
  const other = batches.push('two', 'd', 0)
  t.strictSame(log, ['one: a', 'two: d'])
  release()
  t.strictSame(await Promise.all([...all, other]), ['A', 'B', 'C', 'D'])
  t.strictSame(log, ['one: a', 'two: d', 'one: b,c'])
  t.equal(await batches.push('one', 'e', 0), 'E')
})

t.test('limits the size of a batch', async (t) => {
  const { batches, log, release } = open({ maxBatch: 2 })
  const all = ['a', 'b', 'c', 'd', 'e', 'f'].map((work) => batches.push('one', work, 0))
  release()
  await Promise.all(all)
  t.strictSame(log, ['one: a', 'one: b,c', 'one: d,e', 'one: f'])
})

t.test(
  'fails the unsettled work of a failed batch and continues with the next batch',
  async (t) => {
    const { batches, release, replaceWork } = open()
    replaceWork(([first]) => {
      first!.resolve('done')
      throw new Error('failed')
    })
    release()
    const all = ['a', 'b', 'c'].map((work) => batches.push('one', work, 0))
    const results = await Promise.allSettled(all)
    t.match(results, [
      { status: 'fulfilled', value: 'done' },
      { status: 'fulfilled', value: 'done' },
      { status: 'rejected', reason: { message: 'failed' } },
    ])
  },
)

t.test('does not fail a batch for one rejected item', async (t) => {
  const { batches, release, replaceWork } = open()
  replaceWork((batch) => {
    for (const { work, resolve, reject } of batch)
      if (work === 'b') reject(new Error('not b'))
      else resolve(work)
  })
  release()
  const all = ['a', 'b', 'c'].map((work) => batches.push('one', work, 0))
  t.match(await Promise.allSettled(all), [
    { value: 'a' },
    { reason: { message: 'not b' } },
    { value: 'c' },
  ])
})

t.test('rejects work while too much is pending', async (t) => {
  const { batches, release } = open({ maxWaitingBytes: 10_000 })
  const first = batches.push('one', 'a', 5000)
  const second = batches.push('one', 'b', 2500)
  await t.rejects(batches.push('two', 'c', 0), {
    code: 503,
    message: 'too many pending changes to the configuration',
  })
  release()
  await Promise.all([first, second])
  t.equal(await batches.push('two', 'c', 8000), 'C')
})

t.test('finishes work in progress on close and rejects new work', async (t) => {
  const { batches, log, release } = open()
  const all = ['a', 'b'].map((work) => batches.push('one', work, 0))
  const closed = batches.close().then(() => log.push('closed'))
  await t.rejects(batches.push('two', 'c', 0), { code: 503, message: /is stopping/ })
  release()
  await Promise.all([...all, closed])
  t.strictSame(log, ['one: a', 'one: b', 'closed'])
})
