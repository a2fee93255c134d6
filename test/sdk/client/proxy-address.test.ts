import t, { type Test } from 'tap'
import { Client } from '../../../sdk/client/client.ts'
import { readProxyAddress } from '../../../sdk/client/proxy-address.ts'
import { Service } from '../../../sdk/service/service.ts'

function setVariable(t: Test, value: string): void {
  process.env['MX_PROXY'] = value
  t.teardown(() => delete process.env['MX_PROXY'])
}

t.test('parses an address with or without a scheme', async (t) => {
  const cases: [string, string][] = [
    ['127.0.0.1:8081', 'mx://127.0.0.1:8081'],
    [' proxy.internal:443 ', 'mx://proxy.internal:443'],
    ['mx://[::1]:8081', 'mx://[::1]:8081'],
    ['mxs://proxy.internal:8081', 'mxs://proxy.internal:8081'],
  ]
  for (const [text, address] of cases) t.equal(readProxyAddress(text, true), address)
})

t.test('an invalid address is rejected with the name of the option or variable', async (t) => {
  const invalid = [
    '',
    'localhost',
    ':8081',
    'http://a:1',
    'mx://',
    'a:0',
    'a:65536',
    'mx://a:1/b',
    'mx:a:1',
  ]
  for (const text of invalid) {
    const message = `must be host:port, mx://host:port or mxs://host:port (TLS), with a port from 1 to 65535, got ${JSON.stringify(text)}`
    t.throws(() => readProxyAddress(text, false), new TypeError(`proxy ${message}`))
    if (text === '') continue
    setVariable(t, text)
    t.throws(() => readProxyAddress(undefined, false), new TypeError(`MX_PROXY ${message}`))
    t.throws(() => new Client(), /^TypeError: MX_PROXY must be|MX_PROXY must be/)
    t.throws(() => new Service({ name: 'a' }), /MX_PROXY must be/)
  }
  t.throws(() => new Client({ proxy: 'a' }), /proxy must be host:port/)
  t.throws(() => new Service({ name: 'a', proxy: 'a' }), /proxy must be host:port/)
  t.throws(() => readProxyAddress(8081 as never, false), /got "8081"/)
})

t.test('MX_PROXY applies if the program sets no proxy and no address', async (t) => {
  t.equal(readProxyAddress(undefined, false), undefined)
  setVariable(t, ' ')
  t.equal(readProxyAddress(undefined, false), undefined, 'a blank variable counts as unset')
  setVariable(t, ' a:1\n')
  t.equal(readProxyAddress(undefined, false), 'mx://a:1')
  t.equal(readProxyAddress('b:2', false), 'mx://b:2')
  t.equal(readProxyAddress(undefined, true), undefined)
  t.ok(new Client({ address: 'c:3' }), 'an address overrides the variable')
})

t.test('address and proxy cannot be combined', async (t) => {
  t.throws(() => new Client({ address: 'a:1', proxy: 'b:2' }), /address and proxy/)
})
