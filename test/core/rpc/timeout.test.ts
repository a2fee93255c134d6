import t from 'tap'
import { GatewayError } from '../../../core/errors.ts'
import { HeaderList } from '../../../core/http/headers.ts'
import { readTimeout } from '../../../core/rpc/timeout.ts'

const MAX_MS = 60_000

function read(...fields: string[]): number {
  return readTimeout(new HeaderList(fields), MAX_MS, 'greeter')
}

t.test('Timeout is in seconds, grpc-timeout has its unit', async (t) => {
  const rows: [string[], number][] = [
    [[], 0],
    [['timeout', '2'], 2000],
    [['timeout', '0.5'], 500],
    [['timeout', '1.234'], 1234],
    [['timeout', '0'], 1],
    [['timeout', '0.000'], 1],
    [['timeout', '61'], MAX_MS],
    [['timeout', '999999999'], MAX_MS],
    [['grpc-timeout', '500m'], 500],
    [['grpc-timeout', '10S'], 10_000],
    [['grpc-timeout', '1M'], 60_000],
    [['grpc-timeout', '99999999H'], MAX_MS],
    [['grpc-timeout', '1500u'], 2],
    [['grpc-timeout', '1n'], 1],
    [['timeout', '2', 'grpc-timeout', '3S'], 2000],
  ]
  for (const [fields, ms] of rows) t.equal(read(...fields), ms, fields.join(' '))
})

t.test('rejects a malformed timeout with 400 and examples of valid values', async (t) => {
  const invalid = [
    '',
    'x',
    '-1',
    '+1',
    '1s',
    '1,5',
    '1e3',
    '.5',
    '5.',
    '1.2345',
    '1234567890',
    ' 1',
  ]
  for (const text of invalid) {
    const detail = `Timeout must be seconds up to 999999999, such as 2 or 0.5, got ${JSON.stringify(text)}`
    t.throws(() => read('timeout', text), new GatewayError('greeter', 400, detail), text)
  }
  for (const text of ['', '5', 'S', '123456789S', '1.5S', '-1S', '5s', '5 S', '5SS']) {
    t.throws(
      () => read('grpc-timeout', text),
      { id: 'greeter', code: 400, message: /grpc-timeout must be/ },
      text,
    )
  }
  t.throws(
    () => read('timeout', 'x'.repeat(10_000)),
    { message: /^.{50,150}$/ },
    'a long value is truncated',
  )
})
