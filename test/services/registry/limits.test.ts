import t, { type Test } from 'tap'
import { checkSize } from '../../../services/registry/limits.ts'
import { openPlatformRegistry, toRegistration } from '../../fixtures/platform-registry.ts'
import { makeService } from '../../fixtures/services.ts'

const ENTRY = toRegistration('greeter', ['127.0.0.1:9001'])
const NODE = { id: 'a', address: '127.0.0.1:9001' }

/** Expects 400 with this message for each request. */
async function expectBadRequest(
  t: Test,
  method: string,
  cases: readonly [object, string | RegExp][],
) {
  const { call } = await openPlatformRegistry(t)
  for (const [request, message] of cases)
    await t.rejects(call(method, request), { code: 400, message }, String(message))
}

t.test(
  'rejects an invalid registration with 400 and the path of the first invalid field',
  async (t) => {
    const name = 'must be letters, digits and inner dots, dashes or underscores, at most 253'
    const text = 'must be 1 to 253 visible ASCII characters'
    const deep = (levels: number): object => (levels === 0 ? {} : { values: [deep(levels - 1)] })
    await expectBadRequest(t, 'Register', [
      [{ nodes: [] }, 'request.name is missing'],
      [{ ...ENTRY, name: 'a/b' }, `request.name ${name}, got "a/b"`],
      [{ ...ENTRY, name: '__proto__' }, `request.name ${name}, got "__proto__"`],
      [{ ...ENTRY, name: 5 }, 'request.name must be a string, got 5'],
      [
        { ...ENTRY, version: 'a b' },
        `request.version must be empty, or ${text.slice('must be '.length)}, got "a b"`,
      ],
      [{ ...ENTRY, nodes: null }, 'request.nodes must contain at least one node'],
      [
        { ...ENTRY, nodes: [NODE, { ...NODE, metadata: { weight: 'abc' } }] },
        'request.nodes[1].metadata: weight must be a whole number from 1 to 1000, got "abc"',
      ],
      [
        { ...ENTRY, nodes: [{ ...NODE, metadata: { protocol: 'ftp' } }] },
        'request.nodes[0].metadata: protocol must be http, https, mx, mxs, grpc or grpcs, got "ftp"',
      ],
      [{ ...ENTRY, nodes: [] }, 'request.nodes must contain at least one node'],
      [{ ...ENTRY, nodes: [NODE, { id: 'b' }] }, 'request.nodes[1].address is missing'],
      [
        { ...ENTRY, nodes: [{ ...NODE, id: 'a\r\nb' }] },
        `request.nodes[0].id ${text}, got "a\\r\\nb"`,
      ],
      [
        { ...ENTRY, nodes: [{ ...NODE, address: 'nowhere' }] },
        'request.nodes[0].address must be host:port or [IPv6]:port, got "nowhere"',
      ],
      [
        { ...ENTRY, nodes: [{ ...NODE, metadata: { weight: 1 } }] },
        'request.nodes[0].metadata.weight must be a string, got 1',
      ],
      [
        { ...ENTRY, nodes: Array.from({ length: 101 }, () => NODE) },
        /^request\.nodes must not have more than 100 items, got /,
      ],
      [
        { ...ENTRY, endpoints: Array.from({ length: 1001 }, () => ({ name: 'A.B' })) },
        /^request\.endpoints must not have more than 1000 items, got /,
      ],
      [{ ...ENTRY, endpoints: [{ name: '' }] }, `request.endpoints[0].name ${text}, got ""`],
      [
        { ...ENTRY, endpoints: [{ name: 'A.B', request: deep(16) }] },
        /^request\.endpoints\[0\]\.request must not nest deeper than 16 levels, got /,
      ],
      [
        { ...ENTRY, endpoints: [{ name: 'A.B', response: { values: [{ name: 1 }] } }] },
        'request.endpoints[0].response.values[0].name must be a string, got 1',
      ],
      [{ ...ENTRY, options: { ttl: -1 } }, 'request.options.ttl must be >= 0, got -1'],
      [{ ...ENTRY, options: { ttl: 86_401 } }, 'request.options.ttl must be <= 86400, got 86401'],
      [
        { ...ENTRY, options: { ttl: 'soon' } },
        'request.options.ttl must be an integer, got "soon"',
      ],
      [
        { ...ENTRY, options: { domain: 'a b' } },
        'request.options.domain must be *, empty, or letters, digits and inner dots, dashes or underscores; mx in lower case only; at most 253 characters, got "a b"',
      ],
    ])
  },
)

t.test(
  'metadata has at most 64 pairs, with keys of 128 and values of 512 characters',
  async (t) => {
    const pairs = (count: number) =>
      Object.fromEntries(Array.from({ length: count }, (_, i) => [`k${i}`, 'v']))
    const invalid =
      /^request\.metadata must have at most 64 pairs, with keys of 1 to 128 characters, got/
    await expectBadRequest(t, 'Register', [
      [{ ...ENTRY, metadata: pairs(65) }, invalid],
      [{ ...ENTRY, metadata: { ['k'.repeat(129)]: 'v' } }, invalid],
      [{ ...ENTRY, metadata: { '': 'v' } }, invalid],
      [
        { ...ENTRY, metadata: { key: 'v'.repeat(513) } },
        /^request\.metadata\.key must not have more than 512 characters, got/,
      ],
      [
        { ...ENTRY, endpoints: [{ name: 'A.B', metadata: pairs(65) }] },
        /^request\.endpoints\[0\]\.metadata must have at most 64 pairs/,
      ],
    ])
    const { call } = await openPlatformRegistry(t)
    const maxMetadata = { ...pairs(63), ['k'.repeat(128)]: 'v'.repeat(512) }
    t.same(await call('Register', { ...ENTRY, metadata: { ...maxMetadata, domain: 'x' } }), {})
  },
)

t.test('an entry of more than 256 KiB of JSON is rejected', async (t) => {
  const service = makeService('greeter', ['a:1'])
  const fill = (bytes: number) => ({
    ...service,
    metadata: { fill: 'x'.repeat(bytes - JSON.stringify(service).length - '"fill":""'.length) },
  })
  t.doesNotThrow(() => checkSize(fill(262_144), 'registry'))
  t.throws(() => checkSize(fill(262_145), 'registry'), {
    id: 'registry',
    code: 400,
    message: 'request must be at most 262144 bytes of JSON, got 262145',
  })
  const { call } = await openPlatformRegistry(t)
  const endpoints = [{ name: 'A.B', metadata: { requestSchema: 'ä'.repeat(132_000) } }]
  await t.rejects(call('Register', { ...ENTRY, endpoints }), {
    id: 'registry.Registry.Register',
    message: /^request must be at most 262144 bytes of JSON, got 26/,
  })
})

t.test('rejects an invalid field of GetService, ListServices and Watch with 400', async (t) => {
  await expectBadRequest(t, 'GetService', [
    [{}, 'request.service is missing'],
    [{ service: '' }, /^request\.service must be letters/],
    [{ service: 'a', options: { domain: '/' } }, /^request\.options\.domain must be/],
  ])
  await expectBadRequest(t, 'ListServices', [
    [{ limit: 1001 }, 'request.limit must be <= 1000, got 1001'],
    [{ limit: -1 }, 'request.limit must be >= 0, got -1'],
    [{ after: 'nonsense' }, 'request.after must be a cursor returned as next, got "nonsense"'],
  ])
  const { watch } = await openPlatformRegistry(t)
  await t.rejects(watch({ service: 'a b' }).next(), {
    code: 400,
    message: /^request\.service must be empty, or letters/,
  })
})
