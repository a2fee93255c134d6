import { spawn } from 'node:child_process'
import { once } from 'node:events'
import t from 'tap'
import {
  findMarked,
  parseStat,
  readProcess,
  readProcesses,
  signal,
} from '../../../lib/process/processes.ts'

const FIELDS = '7 8 9 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 4711 1000 25'

t.test('parses /proc/<pid>/stat for any process name; a zombie is not listed', async (t) => {
  const info = { pid: 12, parent: 7, group: 8, start: '4711', residentBytes: 25 * 4096 }
  t.strictSame(parseStat(`12 (node) S ${FIELDS}`), info)
  t.strictSame(parseStat(`12 (a) R (b c)) D ${FIELDS}`), info)
  t.equal(parseStat(`12 (node) Z ${FIELDS}`), undefined, 'a zombie')
  t.equal(parseStat(''), undefined)
  const ended = `12 (node) Z ${FIELDS.replace('0 1 0 4711', '0 2 0 4711')}`
  t.strictSame(parseStat(ended), info, 'other threads are still running')
})

t.test('lists processes, and finds them by an environment variable', async (t) => {
  const child = spawn('sleep', ['100'], { env: { ...process.env, MX_TEST_MARK: 'c0ffee' } })
  t.teardown(() => child.kill('SIGKILL'))
  t.match(readProcess(child.pid!)!, { pid: child.pid!, parent: process.pid })
  t.ok((await readProcesses()).some(({ pid }) => pid === child.pid))
  t.strictSame(await findMarked(['MX_TEST_MARK=c0ffee']), [child.pid])
  t.strictSame(await findMarked(['MX_TEST_MARK=c0ff', 'EST_MARK=c0ffee']), [])
  t.strictSame(await findMarked([]), [])
  t.equal(signal(child.pid!, 0), true)
  child.kill('SIGKILL')
  await once(child, 'exit')
  t.equal(readProcess(child.pid!), undefined)
  t.equal(signal(child.pid!, 0), false)
})
