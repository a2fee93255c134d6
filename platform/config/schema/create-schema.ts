import { plugins } from '../../../plugins/index.gen.ts'
import { SETTINGS } from '../../settings/settings.ts'
import { SETTING_KEYS } from '../../settings/sources.ts'
import { toPluginList } from './plugin-schema.ts'
import { POLICY_SCHEMAS } from './policy-schema.ts'
import {
  CONSUMERS_SCHEMA,
  ERRORS_SCHEMA,
  LISTEN_SCHEMA,
  ROUTES_SCHEMA,
  SERVICES_SCHEMA,
} from './route-schema.ts'
import { type ConfigSchema, toSettingSchema } from './setting-schema.ts'

/**
 * Creates the JSON Schema (2020-12) of `mx.yaml` for editors. The schema accepts every file that
 * the parser accepts. The parser also checks combinations and values that a schema cannot describe.
 */
export function createConfigSchema(): ConfigSchema {
  const settings = SETTING_KEYS.map((key) => SETTINGS[key]).filter(
    ({ notInFile }) => notInFile === undefined,
  )
  return {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    title: 'mx.yaml',
    description: 'Configuration of mx api and mx server.',
    type: 'object',
    minProperties: 1,
    properties: {
      listen: LISTEN_SCHEMA,
      services: SERVICES_SCHEMA,
      routes: ROUTES_SCHEMA,
      consumers: CONSUMERS_SCHEMA,
      errors: ERRORS_SCHEMA,
      ...POLICY_SCHEMAS,
      plugins: {
        $ref: '#/$defs/plugins',
        description: 'The whole chain, in order, instead of the default plugins.',
      },
      ...Object.fromEntries(settings.map((each) => [each.name, toSettingSchema(each)])),
    },
    // In the names of settings, - and _ are equivalent.
    patternProperties: Object.fromEntries(
      settings
        .filter(({ name }) => name.includes('_'))
        .map(({ name }) => [`^${name.replaceAll('_', '[-_]')}$`, { $ref: `#/properties/${name}` }]),
    ),
    additionalProperties: false,
    $defs: {
      reference: {
        type: 'string',
        pattern: '\\$\\{',
        description: `\${NAME}, \${NAME:-default}, \${file:path} or \${secret:path}.`,
      },
      plugins: toPluginList(plugins),
    },
  }
}
