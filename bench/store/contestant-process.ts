// A store in a separate process. It is filled at startup and measured on each request from the parent process.
import { findProgram } from '../../test/fixtures/servers.ts'
import type { Contestant, ContestantName } from './contestant.ts'
import { fill, measure } from './measure.ts'
import { openMx } from './mx.ts'
import { openRedis } from './redis.ts'

const [name, folder = '', records, seconds] = process.argv.slice(2)
const load = { records: Number(records), seconds: Number(seconds) }

function open(contestantName: ContestantName): Promise<Contestant> {
  const sync = contestantName.endsWith('always') ? 'always' : undefined
  if (contestantName.startsWith('mx')) return openMx(folder, sync ?? 'os')
  return openRedis(findProgram('redis-server')!, folder, sync ?? 'everysec')
}

const contestant = await open(name as ContestantName)
process.once('disconnect', () => void contestant.close())
await fill(contestant, load)
process.on('message', async () => process.send!(await measure(contestant, load)))
process.send!(contestant.goals ?? null)
