import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import * as registry from '../../platform/registry.ts'
import { ROOT } from '../../scripts/root.ts'
import * as sdk from '../../sdk/index.ts'
import * as testing from '../../sdk/testing.ts'

t.test(
  'the `mx` entry exports exactly the names that authors of plugins and services need',
  async (t) => {
    t.same(Object.keys(sdk).sort(), [
      'Bytes',
      'Client',
      'GatewayError',
      'HeaderList',
      'Int64',
      'Service',
      'ServiceError',
      'Type',
      'Uint64',
      'badGateway',
      'badRequest',
      'conflict',
      'createBroker',
      'createConfig',
      'createContext',
      'createEvents',
      'createServiceLog',
      'createStore',
      'definePlugin',
      'endpoint',
      'forbidden',
      'formatDuration',
      'formatSize',
      'gatewayTimeout',
      'internal',
      'loadProto',
      'metadata',
      'methodNotAllowed',
      'notFound',
      'notImplemented',
      'parseDuration',
      'parseServiceError',
      'parseSize',
      'preconditionFailed',
      'protobufMessage',
      'timeout',
      'tooManyRequests',
      'unauthorized',
      'unavailable',
    ])
  },
)

t.test(
  'every method that changes a header list validates its input, except for header blocks',
  (t) => {
    const methods = Object.getOwnPropertyNames(sdk.HeaderList.prototype).sort()
    t.same(methods, [
      'append',
      'appendAll',
      'appendBlock',
      'block',
      'constructor',
      'delete',
      'format',
      'formatAfter',
      'formatRest',
      'get',
      'getAll',
      'has',
      'leading',
      'set',
      'size',
    ])
    for (const change of ['append', 'set'] as const) {
      const list = new sdk.HeaderList()
      t.throws(() => list[change]('a', 'b\r\nc: d'), TypeError)
      t.throws(() => list[change]('trailer', 'a'), TypeError)
    }
    t.end()
  },
)

t.test('the `mx-gateway/testing` entry exports exactly the test kit', async (t) => {
  t.same(Object.keys(testing).sort(), [
    'TestExchange',
    'buildPlugin',
    'createTestEnv',
    'createTestExchange',
    'runPlugin',
  ])
})

t.test(
  'the `mx-gateway/registry` entry exports exactly the names that a custom registry needs',
  async (t) => {
    t.same(Object.keys(registry).sort(), [
      'createConsulRegistry',
      'createKubernetesRegistry',
      'createMemoryRegistry',
      'createRegistryService',
      'openRegistry',
      'register',
    ])
  },
)

t.test(
  'the package exports these three entries, the schema of mx.yaml and its package.json',
  async (t) => {
    const { exports, bin } = JSON.parse(await readFile(join(ROOT, 'package.json'), 'utf8'))
    t.same(exports, {
      '.': { types: './dist/sdk/index.d.ts', default: './dist/bundle/index.js' },
      './registry': {
        types: './dist/platform/registry.d.ts',
        default: './dist/bundle/registry.js',
      },
      './testing': { types: './dist/sdk/testing.d.ts', default: './dist/bundle/testing.js' },
      './mx.schema.json': './mx.schema.json',
      './package.json': './package.json',
    })
    t.same(bin, { mx: 'dist/cli/bundle/mx.js' })
  },
)
