import { PRIORITIES } from '../../../core/upstream/concurrency/concurrency-options.ts'
import { HANDLERS } from '../../../resolvers/endpoint/declared.ts'
import { SETTINGS } from '../../settings/settings.ts'
import { findSetting } from '../../settings/sources.ts'
import { ACTIONS, MATCH_KEYS, ROUTE_KEYS } from '../parse-routes.ts'
import { SERVICE_KEYS } from '../services/parse-services.ts'
import { CONCURRENCY_SCHEMA, HEDGE_SCHEMA, POLICY_SCHEMAS, RETRY_SCHEMA } from './policy-schema.ts'
import {
  type ConfigSchema,
  DURATION_SCHEMA,
  oneOfWords,
  SCALAR,
  SCALAR_LIST,
  SWITCH_SCHEMA,
  toSettingSchema,
} from './setting-schema.ts'

/** Schema of `priority` for routes and consumers. */
const PRIORITY_SCHEMA = note(
  oneOfWords(PRIORITIES),
  'Requests with a higher priority leave the queue first and are shed last. Default: default.',
)
const PLUGINS: ConfigSchema = { $ref: '#/$defs/plugins' }
const SCALAR_MAP: ConfigSchema = { type: 'object', additionalProperties: SCALAR }
const CONDITIONS: ConfigSchema = {
  type: 'object',
  additionalProperties: {
    anyOf: [SCALAR, object({ prefix: SCALAR }), object({ present: SWITCH_SCHEMA })],
  },
}
/** Schema of `errors:`. */
export const ERRORS_SCHEMA: ConfigSchema = {
  type: 'object',
  description: 'Error pages by status, 4xx or 5xx: a file, or service:<name>.',
  patternProperties: { '^(?:[45][0-9][0-9]|[45]xx)$': SCALAR },
  additionalProperties: false,
}
const STATUS: ConfigSchema = { type: ['integer', 'string'] }

const MATCH: Readonly<Record<string, ConfigSchema>> = {
  host: note(SCALAR_LIST, 'Host names or *.name, without port.'),
  path: note(SCALAR_LIST, 'Path templates such as /a/b, /a/*, /a/** and /users/{id}.'),
  method: note(SCALAR_LIST, 'Methods; GET includes HEAD.'),
  headers: note(CONDITIONS, 'Headers: value, { prefix: value } or { present: true }.'),
  query: note(CONDITIONS, 'Query parameters: value, { prefix: value } or { present: true }.'),
  client: note(SCALAR_LIST, 'Networks of clients, such as 10.0.0.0/8 or private.'),
}
const ROUTE: Readonly<Record<string, ConfigSchema>> = {
  name: note(SCALAR, 'Unique name. Default: the position from 1.'),
  match: note(
    object(pick(MATCH_KEYS, MATCH)),
    'Conditions, all of which must match. Default: every request.',
  ),
  service: note(SCALAR, 'Service; a name without a dot belongs to the namespace.'),
  endpoint: note(SCALAR, 'Handler.Method that the handlers rpc and api call.'),
  handler: note(
    oneOfWords([...HANDLERS.keys()].filter((name) => name !== '')),
    'Handler of the route. Default: the handler of the gateway.',
  ),
  strip_prefix: note(SCALAR, 'Prefix to remove from the path, such as /api.'),
  add_prefix: note(SCALAR, 'Prefix to add to the path.'),
  rewrite: note(
    object({ path: SCALAR, host: SCALAR, query: SCALAR_MAP }),
    'Templates of path, Host and query.',
  ),
  redirect: note(
    object({
      scheme: oneOfWords(['http', 'https']),
      host: SCALAR,
      path: SCALAR,
      status: note(STATUS, '301, 302, 303, 307 or 308. Default: 308.'),
    }),
    'Redirects to another scheme, host or path.',
  ),
  respond: note(
    object({
      status: note(STATUS, '200 to 599. Default: 200.'),
      body: SCALAR,
      headers: SCALAR_MAP,
    }),
    'Responds without a service.',
  ),
  files: note(
    {
      anyOf: [
        SCALAR,
        {
          ...object({ root: SCALAR, index: SCALAR, fallback: SCALAR, cache_control: SCALAR_MAP }),
          required: ['root'],
        },
      ],
    },
    'Serves the files of a folder.',
  ),
  timeout: note(
    object({ request: DURATION_SCHEMA, response: DURATION_SCHEMA, idle: DURATION_SCHEMA }),
    'Timeouts that override the timeouts of the service.',
  ),
  retry: RETRY_SCHEMA,
  hedge: HEDGE_SCHEMA,
  concurrency: CONCURRENCY_SCHEMA,
  priority: PRIORITY_SCHEMA,
  errors: ERRORS_SCHEMA,
  plugins: note(PLUGINS, 'Plugins of this route.'),
  listeners: note(SCALAR_LIST, 'Names of listeners. Default: all.'),
}
const SERVICE: Readonly<Record<string, ConfigSchema>> = {
  nodes: note(
    SCALAR_LIST,
    'Nodes: host:port[;weight], http://, https://, mx:// or grpc:// URLs. Default: the nodes in the registry.',
  ),
  errors: ERRORS_SCHEMA,
  plugins: note(PLUGINS, 'Plugins for requests to this service.'),
  timeout: note(
    object({
      ...{ connect: DURATION_SCHEMA, response: DURATION_SCHEMA },
      ...{ request: DURATION_SCHEMA, idle: DURATION_SCHEMA },
    }),
    'Timeouts that override connect_timeout, reply_timeout, request_timeout and idle_timeout.',
  ),
  host: note(SCALAR, 'Host header of requests to nodes: client, backend or a name.'),
  tls: note(
    object({
      ...{ ca: SCALAR, cert: SCALAR, key: SCALAR, server_name: SCALAR },
      insecure_skip_verify: SWITCH_SCHEMA,
    }),
    'TLS to nodes: PEM files and the expected name of the certificate.',
  ),
  dns: note(
    object({ refresh: DURATION_SCHEMA, servers: SCALAR_LIST }),
    'Every address of a name becomes a node; refreshed by DNS.',
  ),
  encoded_slash: note(SWITCH_SCHEMA, 'Accept %2F in paths.'),
  ...POLICY_SCHEMAS,
}

/** Schema of `routes:`. */
export const ROUTES_SCHEMA: ConfigSchema = {
  type: 'array',
  description: 'Routes; the most specific one takes precedence.',
  items: {
    ...object(pick(ROUTE_KEYS, ROUTE)),
    oneOf: ACTIONS.map((action) => ({ required: [action] })),
  },
}

/** Schema of `services:`. */
export const SERVICES_SCHEMA: ConfigSchema = {
  type: 'object',
  description: 'Services and their nodes, by name.',
  additionalProperties: {
    anyOf: [SCALAR_LIST, { ...object(pick(SERVICE_KEYS, SERVICE)), minProperties: 1 }],
  },
}

/** Schema of `consumers:`. */
export const CONSUMERS_SCHEMA: ConfigSchema = {
  type: 'array',
  description: 'Plugins and priority for requests of an account.',
  items: {
    ...object({
      account: note(SCALAR, 'Account id.'),
      namespace: note(SCALAR, 'Namespace of the account. Default: mx.'),
      priority: PRIORITY_SCHEMA,
      plugins: note(PLUGINS, 'Plugins for requests of the account.'),
    }),
    required: ['account'],
  },
}

/** Schema of `listen:`. */
export const LISTEN_SCHEMA: ConfigSchema = {
  type: 'array',
  minItems: 1,
  description: 'Listeners, instead of address and the TLS settings. Changes require a restart.',
  items: {
    ...object({
      name: note(SCALAR, 'Unique name. Default: the position from 1.'),
      address: { type: 'string', description: 'host:port, :port or unix:/path.' },
      tls: note(
        object({
          cert: note(SCALAR_LIST, 'Certificate files, PEM, or self-signed.'),
          key: note(SCALAR_LIST, 'Key files, PEM, in the same order.'),
          acme: note(SWITCH_SCHEMA, 'Certificates from the ACME server.'),
          client_ca: note(SCALAR, 'Authorities of client certificates, PEM; listener node only.'),
          client_auth: oneOfWords(['required', 'optional']),
        }),
        'Certificates. Default: plain HTTP.',
      ),
      https_redirect: note(SWITCH_SCHEMA, 'Redirect to the listener with TLS. Default: false.'),
    }),
    required: ['address'],
  },
}

function object(properties: Readonly<Record<string, ConfigSchema>>): ConfigSchema {
  return { type: 'object', properties, additionalProperties: false }
}

function note(schema: ConfigSchema, description: string): ConfigSchema {
  return { ...schema, description }
}

/** Returns the schemas of keys that the parser accepts. A key without a schema may be a setting. */
function pick(
  keys: readonly string[],
  schemas: Readonly<Record<string, ConfigSchema>>,
): Readonly<Record<string, ConfigSchema>> {
  return Object.fromEntries(
    keys.map((key) => {
      const setting = findSetting(key)
      return [
        key,
        schemas[key] ?? (setting === undefined ? {} : toSettingSchema(SETTINGS[setting])),
      ]
    }),
  )
}
