import t from 'tap'
import { addDetails } from '../../../sdk/log/log-details.ts'

/** A log that records its lines. */
function open(context?: Record<string, unknown>) {
  const lines: [level: string, details: object, message: string][] = []
  const record = (level: string) => (details: object, message: string) =>
    void lines.push([level, details, message])
  const log = {
    debug: record('debug'),
    info: record('info'),
    warn: record('warn'),
    error: record('error'),
  }
  return { log: addDetails(log, context), lines }
}

t.test('every line has the fields of the log', async (t) => {
  const { log, lines } = open({ id: '7' })
  log.debug({ a: 1 }, 'one')
  log.info({}, 'two')
  log.warn({ b: 2 }, 'three')
  t.strictSame(lines, [
    ['debug', { id: '7', a: 1 }, 'one'],
    ['info', { id: '7' }, 'two'],
    ['warn', { id: '7', b: 2 }, 'three'],
  ])
})

t.test('an error instead of details is logged as err', async (t) => {
  const { log, lines } = open({ id: '7' })
  const error = new Error('boom')
  log.error(error, 'failed')
  t.strictSame(lines, [['error', { id: '7', err: error }, 'failed']])
})

t.test('text instead of details is the message', async (t) => {
  const { log, lines } = open({ id: '7' })
  const untyped = log as unknown as Record<'info', (...args: unknown[]) => void>
  untyped.info('just text')
  untyped.info('just text %s', 1)
  untyped.info(undefined, 'no details')
  t.strictSame(lines, [
    ['info', { id: '7' }, 'just text'],
    ['info', { id: '7' }, 'just text 1'],
    ['info', { id: '7' }, 'no details'],
  ])
})

t.test('details with reserved field names are prefixed with _', async (t) => {
  const { log, lines } = open({ id: '7' })
  log.info({ msg: 'mine', id: 5, level: 'x', service: 's', time: 1, other: 2 }, 'hello')
  t.strictSame(lines, [
    [
      'info',
      { id: '7', _msg: 'mine', _id: 5, _level: 'x', _service: 's', _time: 1, other: 2 },
      'hello',
    ],
  ])
})

t.test('an unreadable field is replaced by a placeholder', async (t) => {
  const { log, lines } = open()
  const details = {
    a: 1,
    get b() {
      throw new Error('no')
    },
  }
  log.info(details, 'getter')
  const hidden = new Proxy(
    {},
    {
      ownKeys() {
        throw new Error('no')
      },
    },
  )
  log.info(hidden, 'proxy')
  t.strictSame(lines, [
    ['info', { a: 1, b: '[cannot be read]' }, 'getter'],
    ['info', { details: '[cannot be read]' }, 'proxy'],
  ])
})
