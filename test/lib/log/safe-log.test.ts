import { pino } from 'pino'
import t from 'tap'
import { guardLog } from '../../../lib/log/safe-log.ts'

/** An object that throws on every access. */
const HOSTILE = new Proxy(new Error('hidden'), {
  get() {
    throw new Error('no member')
  },
  has() {
    throw new Error('no response')
  },
  getPrototypeOf() {
    throw new Error('no class')
  },
  ownKeys() {
    throw new Error('no names')
  },
})

function open() {
  const lines: Record<string, unknown>[] = []
  const log = pino(guardLog(pino.stdSerializers.err), {
    write: (line) => void lines.push(JSON.parse(line)),
  })
  return { log, lines }
}

t.test('frozen errors and throwing proxies are logged, with a stack if present', async (t) => {
  const { log, lines } = open()
  log.error({ err: Object.freeze(new Error('boo')), n: 1 }, 'frozen')
  log.error(Object.freeze(new TypeError('bare')), 'frozen, too')
  log.error({ err: HOSTILE }, 'hostile')
  t.match(lines, [
    { err: { message: 'Error: boo', stack: /safe-log\.test/ }, n: 1, msg: 'frozen' },
    { err: { message: 'TypeError: bare', stack: /safe-log\.test/ }, msg: 'frozen, too' },
    { err: { message: 'Error: hidden' }, msg: 'hostile' },
  ])
})

t.test('other errors are logged with type, message and cause', async (t) => {
  const { log, lines } = open()
  log.error({ err: new RangeError('far', { cause: new Error('near') }) }, 'failed')
  log.error({ err: 'text' }, 'failed')
  t.match(lines, [
    { err: { type: 'RangeError', message: 'far: near', stack: /caused by: Error: near/ } },
    { err: 'text', msg: 'failed' },
  ])
})

t.test('a log line with unreadable details contains the reason instead', async (t) => {
  const { log, lines } = open()
  log.warn(
    {
      get size() {
        throw new Error('no size')
      },
    },
    'getter',
  )
  log.warn(HOSTILE, 'proxy')
  t.match(lines, [
    { unreadable: 'Error: no size', msg: 'getter' },
    { unreadable: 'Error: no member', msg: 'proxy' },
  ])
})

t.test('a log call does not throw if the destination fails', async (t) => {
  let writes = 0
  const log = pino(guardLog(pino.stdSerializers.err), {
    write() {
      writes++
      throw new Error('disk full')
    },
  })
  log.info({ n: 1 }, 'lost')
  log.info('lost, too')
  t.ok(writes >= 2)
})
