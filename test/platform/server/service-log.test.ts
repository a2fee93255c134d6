import { pino } from 'pino'
import t from 'tap'
import { createBuiltInLog } from '../../../platform/server/service-log.ts'

/** A log of this level, and its lines. */
function open(level: string) {
  const lines: Record<string, unknown>[] = []
  const write = (line: string): void => void lines.push(JSON.parse(line))
  return { lines, log: createBuiltInLog('store', pino({ level }, { write })) }
}

t.test('writes lines of a built-in service to the log of the server with its name', async (t) => {
  const { lines, log } = open('info')
  log.info({ address: 'a:1' }, 'service ready')
  log.warn({ registry: 'consul' }, 'could not register')
  log.info({ server: 'b' }, 'linked')
  log.error({ err: new Error('no') }, 'a call failed')
  t.match(lines, [
    { level: 40, service: 'store', registry: 'consul', msg: 'could not register' },
    { level: 30, service: 'store', server: 'b', msg: 'linked' },
    { level: 50, service: 'store', err: { message: 'no' }, msg: 'a call failed' },
  ])
  t.equal(lines.length, 3, 'the ready line is omitted')
  t.same(
    log.records().map(({ message }) => message),
    ['service ready', 'could not register', 'linked', 'a call failed'],
    'Debug.Log has all lines',
  )
})

t.test('logs everything at the debug level', async (t) => {
  const { lines, log } = open('debug')
  log.debug({ a: 1 }, 'look')
  log.info({}, 'service ready')
  t.match(lines, [
    { level: 20, a: 1, msg: 'look' },
    { level: 20, msg: 'service ready' },
  ])
})
