import t from 'tap'
import { createTurns } from '../../../services/config/turns.ts'

interface Work {
  readonly work: () => Promise<string>
  readonly resolve: (result: string) => void
}

/** Work that ends when it is told to. */
function createWork(log: string[], name: string): Work {
  let resolve = (_result: string): void => {}
  const ended = new Promise<string>((settle) => {
    resolve = settle
  })
  return {
    resolve,
    async work() {
      log.push(`${name} begins`)
      const result = await ended
      log.push(`${name} ends`)
      return result
    },
  }
}

t.test('work of one name is done one by one, of different ones at the same time', async (t) => {
  const turns = createTurns(1_000_000)
  const log: string[] = []
  const a = createWork(log, 'a')
  const b = createWork(log, 'b')
  const c = createWork(log, 'c')
  const first = turns.take('one', 0, a.work)
  const second = turns.take('one', 0, b.work)
  const third = turns.take('two', 0, c.work)
  c.resolve('C')
  t.equal(await third, 'C')
  t.strictSame(log, ['a begins', 'c begins', 'c ends'])
  b.resolve('B')
  a.resolve('A')
  t.strictSame(await Promise.all([first, second]), ['A', 'B'])
  t.strictSame(log.slice(3), ['a ends', 'b begins', 'b ends'])
})

t.test('work that fails does not keep the next from its turn', async (t) => {
  const turns = createTurns(1_000_000)
  const failed = turns.take('one', 0, async () => {
    throw new Error('no')
  })
  const next = turns.take('one', 0, async () => 5)
  await t.rejects(failed, { message: 'no' })
  t.equal(await next, 5)
})

t.test('with too much waiting work is refused, until there is room', async (t) => {
  const turns = createTurns(10_000)
  const held = createWork([], 'a')
  const first = turns.take('one', 5000, held.work)
  const second = turns.take('one', 2500, async () => 'second')
  await t.rejects(
    turns.take('two', 0, async () => 'third'),
    {
      code: 503,
      message: 'too many changes of the configuration are waiting',
    },
  )
  held.resolve('first')
  t.strictSame(await Promise.all([first, second]), ['first', 'second'])
  t.equal(await turns.take('two', 8000, async () => 'third'), 'third')
})

t.test('closing waits for what is under way, and nothing more is taken', async (t) => {
  const turns = createTurns(10_000)
  const log: string[] = []
  const held = createWork(log, 'a')
  const under = turns.take('one', 0, held.work)
  const closed = turns.close().then(() => log.push('closed'))
  await t.rejects(
    turns.take('two', 0, async () => 1),
    { code: 503, message: /being closed/ },
  )
  held.resolve('')
  await Promise.all([under, closed])
  t.strictSame(log, ['a begins', 'a ends', 'closed'])
})
