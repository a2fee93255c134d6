import t from 'tap'
import { isSameHost } from '../../../../core/http/host/same-host.ts'

t.test('isSameHost compares host and port of an origin with a Host header', async (t) => {
  const rows: [string, string, boolean][] = [
    ['http://app.test', 'app.test', true],
    ['https://app.test', 'app.test', true],
    ['https://App.Test', 'app.test', true],
    ['https://app.test', 'app.test:443', true],
    ['https://app.test', 'app.test:80', false],
    ['https://app.test:8443', 'app.test', false],
    ['https://app.test.evil.test', 'app.test', false],
    ['https://app.test@evil.test', 'app.test', false],
    ['null', 'null', false],
    ['', '', false],
  ]
  for (const [origin, host, same] of rows) t.equal(isSameHost(origin, host), same, origin)
})
