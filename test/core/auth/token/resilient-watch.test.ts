import t from 'tap'
import { ResilientWatch } from '../../../../core/auth/token/resilient-watch.ts'
import { waitUntil } from '../../../contracts/registry.ts'

function open<T>(start: (signal: AbortSignal) => AsyncIterable<T>, waitMs = 5000) {
  const changes: [T, T][] = []
  const outages: (string | undefined)[] = []
  const watch = new ResilientWatch<T>({
    open: start,
    onChange: (value, before) => void changes.push([value, before]),
    onOutage: (reason) => void outages.push(reason?.message),
    waitMs,
  })
  return { watch, changes, outages }
}

t.test('a watch that fails is restarted, and its last value stays available', async (t) => {
  let started = 0
  const { watch, changes, outages } = open(async function* (signal) {
    started++
    if (started === 2) throw new Error('broken')
    yield started
    if (started === 3)
      await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }))
  })
  t.equal(watch.value, undefined)
  t.equal(await watch.first(), 1)
  await waitUntil(() => started === 2)
  t.equal(watch.value, 1)
  await waitUntil(() => watch.value === 3)
  t.same(changes, [[3, 1]])
  t.same(outages, ['the watch has ended', 'broken', undefined])
  watch.close()
  t.equal(started, 3)
})

/** A watch that cannot start. */
const failToStart = (): AsyncIterable<number> => {
  throw new Error('broken')
}

t.test('first() rejects with the error of a watch that cannot start', async (t) => {
  const { watch } = open(failToStart)
  await t.rejects(watch.first(), { message: 'broken' })
  await t.rejects(watch.first(), { message: 'broken' }, 'for later callers, too')
  watch.close()
})

t.test('close rejects pending first() calls and ends an outage', async (t) => {
  const pending = open(async function* (): AsyncGenerator<number, void, undefined> {
    await new Promise(() => {})
  })
  const first = pending.watch.first()
  pending.watch.close()
  await t.rejects(first, { message: 'the watch was closed' })
  t.same(pending.outages, [])
  const broken = open(failToStart)
  await t.rejects(broken.watch.first())
  broken.watch.close()
  t.same(broken.outages.at(-1), undefined)
})
