import t from 'tap'
import eventsCommand from '../../../../cli/commands/platform/events.ts'
import { openCliServer } from '../../../fixtures/cli-server.ts'

const { run, mx, start } = await openCliServer(t)
const events = (...args: string[]) => run(eventsCommand, ...args)

t.test('publish prints the event id, and read prints the events', async (t) => {
  const time = '2026-01-31T12:00:00Z'
  const id = await events('publish', 'orders', '{"id":5}', '--metadata', 'source=shop')
  t.match(id, /^[0-9a-f-]{36}\n$/)
  const text = await events('publish', 'orders', 'two\tlines\n', '--timestamp', time, '-o', 'json')
  t.match(JSON.parse(text), { id: String, sequence: 2 })
  t.match(await mx(['events', 'publish', 'orders', '-'], Uint8Array.of(0xff)), { code: 0 })
  t.equal(await events('read', 'orders'), 'two\tlines\n\n{"id":5}\n\xff\n')
  const [first, second, third] = JSON.parse(await events('read', 'orders', '-o', 'json'))
  t.match(first, { payload: 'two\tlines\n', sequence: 2, timestamp_ms: Date.parse(time) })
  t.match(second, { payload: '{"id":5}', metadata: { source: 'shop' }, id: id.trim() })
  t.match(third, { payload_base64: '/w==', topic: 'orders' })
})

t.test('read limits by count, offset and time, and prints metadata with -v', async (t) => {
  const [headings, row] = (await events('read', 'orders', '-v')).split('\n')
  t.match(headings, /^SEQUENCE\tTIME\t+ID\t+METADATA\tPAYLOAD$/)
  t.match(row, /^2\t+2026-01-31T12:00:00\.000Z\t\S+\tn\/a\t+"two\\tlines\\n"$/)
  t.equal(await events('read', 'orders', '--limit=1'), '{"id":5}\n')
  t.equal(await events('read', 'orders', '--offset=2'), '\xff\n')
  t.equal(await events('read', 'orders', '--since=1h'), '{"id":5}\n\xff\n')
  t.equal(await events('read', 'orders', '--limit=0', '--since=2027-01-01'), '')
  for (let i = 0; i < 300; i++) await events('publish', 'many', `${i}`)
  const countLines = async (...args: string[]) =>
    (await events('read', 'many', ...args)).split('\n').length - 1
  t.equal(await countLines(), 250)
  t.equal(await countLines('-l', '0'), 300)
  t.equal(await countLines('-l', '290'), 290)
})

t.test('topics lists topics, and their groups with -v', async (t) => {
  const [headings, ...rows] = (await events('topics')).trimEnd().split('\n')
  t.match(headings, /^TOPIC\tEVENTS\tFIRST\tLAST\tBYTES$/)
  t.match(
    rows.find((row) => row.startsWith('orders')),
    /^orders\t3\t1\t3\t\d+$/,
  )
  await events('consume', 'orders', '--group=lagging', '--offset=1', '-l', '1')
  t.match(await events('topics', 'orders', '-v'), /\norders\t.*\tlagging \(2 behind\)\n$/)
  t.match(JSON.parse(await events('topics', 'orders', '-o', 'json')), [
    { topic: 'orders', last: 3 },
  ])
  await t.rejects(events('topics', 'none'), { status: 1, message: 'not found: none' })
})

t.test('consume starts at the requested sequence', async (t) => {
  t.equal(await events('consume', 'orders', '--offset=1', '-l', '1'), '{"id":5}\n')
  const text = await events('consume', 'orders', '--offset', '3', '-l', '1', '-o', 'json')
  t.match(JSON.parse(text), { sequence: 3, payload_base64: '/w==', attempt: 1 })
})

t.test('a group continues after the last printed event, even after Ctrl-C', async (t) => {
  const args = ['consume', 'many', '--group', 'billing', '--offset', '1']
  t.equal(await events(...args, '-l', '2'), '0\n1\n')
  const { child, ended, output, waitUntil } = start('events', ...args)
  await waitUntil(/^299$/m)
  child.kill('SIGINT')
  t.equal(await ended, 0)
  t.match(output.stdout, /^2\n3\n/)
  await events('publish', 'many', 'last')
  t.equal(await events(...args, '-l', '1'), 'last\n')
})

t.test(
  'an existing group continues at its position; --offset and --since are ignored with a notice',
  async (t) => {
    await events('publish', 'known', 'first')
    const consume = (...args: string[]) => mx(['events', 'consume', 'known', '-l', '1', ...args])
    const result = (flag: string) =>
      `mx: ${flag} ignored: the group g exists and continues at its position\n`
    t.same(await consume('--group=g', '--offset=1'), { code: 0, stdout: 'first\n', stderr: '' })
    for (const [flag, value] of [
      ['--offset', '1'],
      ['--since', '1h'],
    ] as const) {
      await events('publish', 'known', value)
      const stdout = `${value}\n`
      const stderr = result(flag)
      t.same(await consume('--group=g', flag, value), { code: 0, stdout, stderr })
    }
    await events('publish', 'known', 'last')
    t.same(await consume('--group=g'), { code: 0, stdout: 'last\n', stderr: '' })
  },
)

t.test('consume continues without gaps after the signing key is rotated', async (t) => {
  await events('publish', 'tokens', 'one')
  const { child, ended, output, waitUntil } = start('events', 'consume', 'tokens', '--offset=1')
  await waitUntil(/^one$/m)
  t.match(await mx(['call', 'auth', 'Auth.RotateKey', '{"drop":true}']), { code: 0 })
  await events('publish', 'tokens', 'two')
  await waitUntil(/^two$/m)
  child.kill('SIGINT')
  t.equal(await ended, 0)
  t.same(output, { stdout: 'one\ntwo\n', stderr: '' })
})

t.test('malformed arguments are rejected with the expected form', async (t) => {
  await t.rejects(events('consume', 'orders', '--offset=first'), {
    message: '--offset must be a whole number, got first',
    status: 2,
  })
  await t.rejects(events('consume', 'orders', '--offset=1', '--since=1h'), {
    message: /^--offset and --since cannot be combined/,
    status: 2,
  })
  await t.rejects(events('read', 'orders', '--since=soon'), {
    message: /^--since must be a duration/,
  })
  await t.rejects(events('publish', 'no/topic', 'x'), { message: /topic/, status: 127 })
})
