import t from 'tap'
import { createServiceLog } from '../../../sdk/log/service-log.ts'

t.test('the log writes JSON lines and retains the last 256 in memory', async (t) => {
  const lines: string[] = []
  const log = createServiceLog({ service: 'greeter', write: (line) => void lines.push(line) })
  log.info({ user: 'John', size: 5 }, 'greeted')
  t.match(JSON.parse(lines[0]!), { level: 30, service: 'greeter', user: 'John', msg: 'greeted' })
  const [record] = log.records()
  t.match(record, {
    message: 'greeted',
    metadata: { level: 'info', service: 'greeter', user: 'John', size: '5', time: /^20.*Z$/ },
  })
  t.ok(Math.abs(record!.timestamp - Date.now() / 1000) < 10)
  for (let i = 0; i < 300; i++) log.warn({ i }, `line ${i}`)
  const records = log.records()
  t.equal(records.length, 256)
  t.equal(records[0]!.message, 'line 44')
  t.equal(records.at(-1)!.message, 'line 299')
})

t.test('lines below the level are neither written nor retained', async (t) => {
  const lines: string[] = []
  const write = (line: string) => void lines.push(line)
  const log = createServiceLog({ service: 'greeter', level: 'error', write })
  log.info({}, 'a')
  log.warn({}, 'b')
  log.error({}, 'c')
  t.strictSame(
    log.records().map(({ message }) => message),
    ['c'],
  )
  t.equal(lines.length, 1)
})

t.test('errors are logged with their stack, and line breaks are escaped', async (t) => {
  const lines: string[] = []
  const log = createServiceLog({ service: 'greeter', write: (line) => void lines.push(line) })
  log.error({ err: new Error('bad\n{"level":30}') }, 'a\nb')
  t.equal(lines.length, 1)
  t.equal(lines[0]!.indexOf('\n'), lines[0]!.length - 1)
  t.match(log.records()[0], { message: 'a\nb', metadata: { err: /service-log\.test/ } })
})

t.test('a long line is truncated in memory', async (t) => {
  const log = createServiceLog({ service: 'greeter', write: () => {} })
  log.info({ long: 'x'.repeat(100_000) }, 'end')
  const [record] = log.records()
  t.match(record, { metadata: { level: 'info' }, message: /^\{"level":30/ })
  t.ok(record!.timestamp > 0)
  t.ok(JSON.stringify(record).length < 20_000)
})
