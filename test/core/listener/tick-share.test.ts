import t from 'tap'
import { TickShare } from '../../../core/listener/tick-share.ts'

const MIB = 1024 * 1024

function createClient(name: string, log: string[]): TickShare {
  return new TickShare({
    pauseForTick: () => log.push(`${name} paused`),
    resumeAfterTick: () => log.push(`${name} resumed`),
  })
}

t.test(
  'a client that sends too much in one tick pauses the other clients until the tick ends',
  async (t) => {
    const log: string[] = []
    const [a, b, closed] = ['a', 'b', 'closed'].map((name) => createClient(name, log))
    closed!.end()
    for (let i = 0; i < 2; i++) a!.add(MIB, 0)
    t.strictSame(log, [])
    a!.add(MIB, 0)
    a!.add(MIB, 0)
    t.strictSame(log, ['b paused'], 'once per tick, and not for the sending client')
    await new Promise(setImmediate)
    await new Promise(setImmediate)
    t.strictSame(log, ['b paused', 'b resumed'])
    b!.add(MIB, 0)
    t.strictSame(log, ['b paused', 'b resumed'], 'the next tick starts from zero')
    for (const client of [a!, b!]) client.end()
  },
)

t.test(
  'add returns true once a tick exceeds the bytes read by the backend by 12 MiB and two messages',
  async (t) => {
    const client = createClient('a', [])
    t.teardown(() => client.end())
    const send = (count: number, readBytes: number) =>
      Array.from({ length: count }, () => client.add(MIB, readBytes))
    t.notOk(send(14, 0).includes(true))
    t.equal(client.add(MIB, 0), true)
    t.equal(client.add(MIB, 2 * MIB), false, 'its backend has read the same amount')
    await new Promise(setImmediate)
    await new Promise(setImmediate)
    t.notOk(send(14, 0).includes(true), 'the next tick starts from zero')
  },
)
