import t from 'tap'
import { formatAccount } from '../../../../core/auth/account-text.ts'
import { createContext } from '../../../../sdk/context.ts'
import { createAddressCheck } from '../../../../services/registry/nodes/check-addresses.ts'
import { openEgress } from '../../../fixtures/egress.ts'
import { makeService } from '../../../fixtures/services.ts'

const WORKLOAD = { id: 'shop', scopes: ['workload:mx/shop'] }
const OPERATOR = { id: 'admin', issuer: 'mx', scopes: ['admin'] }

interface Registration {
  readonly address: string
  readonly account?: { id: string; scopes: readonly string[]; issuer?: string }
  readonly from?: string
  readonly domain?: string
  readonly isLocal?: boolean
  readonly resolved?: string
}

const egress = openEgress({ resolve: async () => ['192.0.2.9', '192.0.2.7'] })

/** Metadata of the registered node. */
async function check(registration: Registration): Promise<Readonly<Record<string, string>>> {
  const { address, account = { id: 'a', scopes: ['admin'] }, from = '127.0.0.1' } = registration
  const { domain = 'mx', isLocal = false, resolved } = registration
  const policy = { egress, isLocal, programNamespaces: ['mx'] }
  const complete = { name: '', type: 'user' as const, issuer: 'tb', metadata: {}, ...account }
  const metadata = { 'mx-account': formatAccount(complete), 'mx-address': from }
  const service = makeService('shop', [])
  const node = { id: 'n', address, metadata: resolved === undefined ? {} : { resolved } }
  const checked = await createAddressCheck(policy)(
    { ...service, nodes: [node] },
    domain,
    createContext({ metadata }),
    'registry',
  )
  t.equal(checked.nodes[0]!.address, address)
  return checked.nodes[0]!.metadata
}

t.test(
  'a program of the runtime may register loopback addresses, and other accounts are rejected with 403',
  async (t) => {
    await check({ address: '127.0.0.1:9001', account: WORKLOAD })
    await t.rejects(check({ address: '127.0.0.1:9001' }), { code: 403, message: /\(loopback\)/ })
    await t.rejects(check({ address: '127.0.0.1:9001', account: WORKLOAD, from: '192.0.2.7' }), {
      code: 403,
    })
    await t.rejects(
      check({ address: '127.0.0.1:9001', account: WORKLOAD, domain: 'tb' }),
      { code: 403 },
      'a namespace without programs on this server can also create such accounts',
    )
  },
)

t.test('the local profile allows loopback in the default namespace', async (t) => {
  await check({ address: '127.0.0.1:9001', isLocal: true })
  await t.rejects(check({ address: '127.0.0.1:9001', isLocal: true, domain: 'tb' }), { code: 403 })
  await t.rejects(check({ address: '169.254.169.254:80', isLocal: true }), { code: 403 })
})

t.test(
  'an operator registers any address, and host names of operators are not pinned',
  async (t) => {
    t.same(await check({ address: '169.254.169.254:80', account: OPERATOR }), {})
    t.same(await check({ address: 'shop.test:80', account: OPERATOR, resolved: '192.0.2.1' }), {})
    await t.rejects(
      check({ address: '169.254.169.254:80', account: { ...OPERATOR, issuer: 'tb' } }),
      { code: 403 },
      'an administrator of another namespace is not an operator',
    )
  },
)

t.test('a host name is registered with the addresses that were checked', async (t) => {
  await t.rejects(check({ address: 'shop.test:80', from: '192.0.2.7' }), {
    message: /shop\.test:80 \(192\.0\.2\.9\)/,
  })
  const single = openEgress({ resolve: async () => ['192.0.2.7'] })
  const service = {
    ...makeService('shop', []),
    nodes: [{ id: 'n', address: 'shop.test:80', metadata: { resolved: '127.0.0.1' } }],
  }
  const ctx = createContext({ metadata: { 'mx-address': '192.0.2.7' } })
  const checkWithoutAccounts = createAddressCheck({
    ...{ egress: single, isLocal: false, programNamespaces: [] },
  })
  const { nodes } = await checkWithoutAccounts(service, 'mx', ctx, 'registry')
  t.same(nodes[0]!.metadata, { resolved: '192.0.2.7' }, 'the value sent by the caller is replaced')
})

t.test('without accounts every address is accepted', async (t) => {
  const service = makeService('shop', ['169.254.169.254:80'])
  const checked = await createAddressCheck(undefined)(service, 'mx', createContext(), 'registry')
  t.same(checked.nodes, service.nodes)
})
