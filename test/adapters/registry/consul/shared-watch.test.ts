import t, { type Test } from 'tap'
import {
  type ConsulResponse,
  joinChunks,
} from '../../../../adapters/registry/consul/http/client.ts'
import {
  createSharedWatch,
  type SharedWatch,
} from '../../../../adapters/registry/consul/shared-watch.ts'
import { createSlots } from '../../../../adapters/registry/consul/watch-slots.ts'
import type { RegistryEvent } from '../../../../core/contracts/registry.ts'
import { waitUntil } from '../../../contracts/registry.ts'
import { makeService } from '../../../fixtures/services.ts'

const PACE = {
  gapMs: 0,
  burst: 1,
  waitSeconds: 1,
  shortWaitSeconds: 1,
  retryMs: 1,
  maxRetryMs: 1,
  deniedMs: 1,
  lingerMs: 0,
}

function open(t: Test): {
  watch: SharedWatch
  /** Resolves the query in flight with services of these names, or an error. */
  respond: (names: readonly string[] | Error) => Promise<void>
  idle: () => number
} {
  let index = 1
  let idle = 0
  let reply: ((respond: ConsulResponse) => void) | undefined
  let fail: ((error: Error) => void) | undefined
  const watch = createSharedWatch({
    request: () =>
      new Promise((resolve, reject) => {
        reply = resolve
        fail = reject
      }),
    read: ({ chunks }) =>
      (JSON.parse(joinChunks(chunks).toString()) as string[]).map((name) => makeService(name, [])),
    slots: createSlots(1, 1, () => {}),
    pace: PACE,
    onIdle: () => idle++,
  })
  t.teardown(() => watch.stop())
  return {
    watch,
    idle: () => idle,
    async respond(names) {
      await waitUntil(() => reply !== undefined)
      const [resolve, reject] = [reply!, fail!]
      reply = undefined
      if (names instanceof Error) reject(names)
      else
        resolve({
          index: String(index++),
          filtered: false,
          era: 0,
          chunks: [Buffer.from(JSON.stringify(names))],
          release: () => {},
        })
      await waitUntil(() => reply !== undefined)
    },
  }
}

t.test('emits changes after the first response to all listeners', async (t) => {
  const { watch, respond } = open(t)
  const events: string[] = []
  const listen = ({ type, service }: RegistryEvent): void =>
    void events.push(`${type} ${service.name}`)
  watch.add(listen)
  watch.add(listen)
  t.equal(watch.services(), undefined)
  await respond(['a'])
  await watch.settled
  t.same(events, [])
  t.match(watch.services(), [{ name: 'a' }])
  await respond(['b'])
  t.same(events, ['create b', 'create b', 'delete a', 'delete a'])
})

t.test('reports the start and end of an outage, including to new listeners', async (t) => {
  const { watch, respond } = open(t)
  const outages: (string | undefined)[] = []
  const warnings = t.capture(process, 'emitWarning', () => {})
  watch.add(() => {}, {
    onOutage: () => {
      throw new Error('a faulty listener')
    },
  })
  watch.add(() => {}, { onOutage: (reason) => outages.push(reason?.message) })
  await respond(['a'])
  await respond(new Error('unavailable'))
  await respond(new Error('unavailable'))
  t.same(outages, ['unavailable'])
  t.equal(watch.services(), undefined, 'the known state is outdated')
  const late: (string | undefined)[] = []
  watch.add(() => {}, { onOutage: (reason) => late.push(reason?.message) })
  const otherWatcher = watch.add(() => {}, { onOutage: () => t.fail('no event after stop') })
  otherWatcher()
  t.same(late, [], 'not before its own watch is registered')
  await waitUntil(() => late.length === 1)
  await respond(['b'])
  t.same(
    [outages, late],
    [
      ['unavailable', undefined],
      ['unavailable', undefined],
    ],
  )
  t.equal(warnings().length, 2)
  t.match(watch.services(), [{ name: 'b' }])
})

t.test('stops the query with its last listener', async (t) => {
  const { watch, respond, idle } = open(t)
  const stops = [watch.add(() => {}), watch.add(() => {})]
  await respond(['a'])
  stops[0]!()
  stops[0]!()
  t.equal(idle(), 0)
  stops[1]!()
  t.equal(idle(), 1)
})
