// Events, compared with the bare NATS JetStream client in the same run: `npm run bench events [-- seconds rounds]`.
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startNatsServer } from '../test/fixtures/nats.ts'
import { findProgram } from '../test/fixtures/servers.ts'
import { openBareJetStream } from './events/bare-jetstream.ts'
import type { Contestant, EventsGoals } from './events/contestant.ts'
import { openJetStream, openLmdb } from './events/mx.ts'
import { guardGoals } from './report/goals.ts'
import { median } from './report/median.ts'
import { reportRows } from './report/rows.ts'

const CALLERS = 1000
const [seconds = 2, rounds = 3] = process.argv.slice(2).map(Number)
const PUBLISHED = 'published/s'
const REPLAYED = 'replayed/s'
const PAYLOAD = Buffer.from('x'.repeat(128))

/** Measures published events per second in a closed loop. Returns the rate and the number of events. */
async function measurePublish(publish: Contestant['publish']): Promise<[number, number]> {
  const startMs = performance.now()
  const endMs = startMs + seconds! * 1000
  let count = 0
  const caller = async (): Promise<void> => {
    while (performance.now() < endMs) {
      await publish(PAYLOAD)
      count++
    }
  }
  await Promise.all(Array.from({ length: CALLERS }, caller))
  return [Math.round((count / (performance.now() - startMs)) * 1000), count]
}

/** Measures received events per second. */
async function measureReceive(receive: Contestant['replay'], count: number): Promise<number> {
  const startMs = performance.now()
  const bytes = await receive(count)
  if (bytes !== count * PAYLOAD.length)
    throw new Error(`received ${bytes} bytes for ${count} events of ${PAYLOAD.length}`)
  return Math.round((count / (performance.now() - startMs)) * 1000)
}

async function measure({ publish, replay, consume }: Contestant): Promise<number[]> {
  const [published, count] = await measurePublish(publish)
  return [published, await measureReceive(replay, count), await measureReceive(consume, count)]
}

const folder = mkdtempSync(join(tmpdir(), 'mx-bench-events-'))
let folders = 0
const makeFolder = (): string => {
  const contestantFolder = join(folder, String(folders++))
  mkdirSync(contestantFolder)
  return contestantFolder
}
const program = findProgram('nats-server')
if (program === undefined)
  process.stdout.write('nats-server is not installed (scripts/test-servers.sh installs it)\n')

/** Starts a new server for each contestant, because existing events would slow it down. */
async function withServer(open: (port: number) => Promise<Contestant>): Promise<Contestant> {
  const server = await startNatsServer(program!, { jetStream: true })
  const contestant = await open(server.port)
  return {
    ...contestant,
    async close() {
      await contestant.close()
      await server.close()
    },
  }
}

const contestants: (() => Promise<Contestant>)[] = [
  () => openLmdb(makeFolder(), 'os'),
  () => openLmdb(makeFolder(), 'always'),
]
if (program !== undefined)
  contestants.push(
    () => withServer(openJetStream),
    () => withServer(openBareJetStream),
  )

try {
  const figures = new Map<string, number[][]>()
  const goalsByName = new Map<string, EventsGoals>()
  for (let round = 0; round < rounds!; round++)
    for (const open of contestants) {
      const contestant = await open()
      try {
        const { name, goals } = contestant
        if (goals !== undefined) goalsByName.set(name, goals)
        figures.set(name, [...(figures.get(name) ?? []), await measure(contestant)])
      } finally {
        await contestant.close()
      }
    }
  const rows = [...figures].map(([events, runs]) => ({
    events,
    [PUBLISHED]: median(runs.map(([published]) => published!)),
    [REPLAYED]: median(runs.map(([, replayed]) => replayed!)),
    'consumed in a group/s': median(runs.map(([, , consumed]) => consumed!)),
  }))
  const conditions = `Events of ${PAYLOAD.length} bytes, ${CALLERS} concurrent callers, medians of ${rounds} rounds`
  reportRows('events', 'Durable events, called within the process', conditions, rows)
  guardGoals(
    rows.flatMap(({ events, [PUBLISHED]: published, [REPLAYED]: replayed }) => {
      const goals = goalsByName.get(events)
      if (goals === undefined) return []
      return [
        { label: `${events}, ${PUBLISHED}`, value: published, atLeast: goals.publishedPerSecond },
        { label: `${events}, ${REPLAYED}`, value: replayed, atLeast: goals.replayedPerSecond },
      ]
    }),
  )
} finally {
  rmSync(folder, { recursive: true, force: true })
}
