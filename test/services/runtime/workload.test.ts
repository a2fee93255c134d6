import t from 'tap'
import { toWorkload } from '../../../services/runtime/workload.ts'
import { makeRecord, makeRevision } from './parts.ts'

const account = { id: 'helloworld@latest', secret: 'own' }

t.test('passes the environment of reference 7.5', async (t) => {
  const input = { secrets: {}, account, proxy: '127.0.0.1:8081' }
  const { env, ...rest } = toWorkload({ ...input, record: makeRecord(), revision: makeRevision() })
  t.same(env, {
    ...{ MX_PROFILE: 'service', MX_SERVICE_NAME: 'helloworld', MX_SERVICE_VERSION: 'latest' },
    ...{ MX_PROXY: '127.0.0.1:8081', MX_NAMESPACE: 'mx' },
    ...{ MX_AUTH_ID: 'helloworld@latest', MX_AUTH_SECRET: 'own' },
  })
  t.match(rest, { name: 'helloworld', version: 'latest', revision: 'one', instances: 1 })
  t.notOk('port' in rest)
})

t.test('lets the owner override all variables except the namespace and credentials', async (t) => {
  const others = {
    ...{ MX_NAMESPACE: 'other', MX_AUTH_ID: 'admin', MX_AUTH_SECRET: 'x', MX_PROXY: 'p:1' },
    ...{ MX_PROFILE: 'mine', A: '1' },
  }
  const revision = makeRevision('one', { env: others, port: 3000, protocol: 'http' })
  const secrets = { A: '2', MX_AUTH_ID: 'admin' }
  const input = { secrets, account, proxy: '127.0.0.1:8081' }
  const { env, port } = toWorkload({ ...input, record: makeRecord(), revision })
  t.match(env, {
    ...{ MX_PROFILE: 'mine', MX_PROXY: 'p:1', A: '2' },
    ...{ MX_NAMESPACE: 'mx', MX_AUTH_ID: 'helloworld@latest', MX_AUTH_SECRET: 'own' },
  })
  t.equal(port, 3000)
})

t.test('marks only the serving revision as previously ready', async (t) => {
  const input = { secrets: {}, account, proxy: '127.0.0.1:8081' }
  const record = makeRecord({ current: makeRevision('one') })
  t.equal(toWorkload({ ...input, record, revision: makeRevision('one') }).wasReady, true)
  t.equal(toWorkload({ ...input, record, revision: makeRevision('two') }).wasReady, undefined)
})
