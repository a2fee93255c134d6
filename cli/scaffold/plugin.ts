import { formatPackage, GITIGNORE, type Template, TSCONFIG, toCamelCase } from './template.ts'

/** Template for a gateway plugin in TypeScript with an option and a test. */
export const plugin: Template = {
  kind: 'plugin',

  files: (name) => ({
    [`${name}.ts`]: `import { definePlugin, type PluginDefinition, Type } from 'mx-gateway'

/** Sets a header on every response. */
const plugin: PluginDefinition = definePlugin({
  name: '${name}',
  description: 'Sets a header on every response.',
  options: Type.Object({
    value: Type.String({ default: '${name}', description: 'Value of the header.' }),
  }),
  create({ value }) {
    // Runs once at startup. Compute values that all requests share here.
    return {
      onReply: (x) => x.replyHeaders.set('x-${name}', value),
    }
  },
})

export default plugin
`,
    [`${name}.test.ts`]: `import assert from 'node:assert/strict'
import { test } from 'node:test'
import { buildPlugin, runPlugin } from 'mx-gateway/testing'
import ${toCamelCase(name)} from './${name}.ts'

test('sets the header of a response', async () => {
  const { status, headers } = await runPlugin(buildPlugin(${toCamelCase(name)}, { value: 'yes' }))
  assert.equal(status, 200)
  assert.equal(headers.get('x-${name}'), 'yes')
})
`,
    'mx.yaml': `# mx api reads this file from its working folder. Only the listed plugins run, in this order.
plugins:
  - request-id
  - access-log
  - namespace
  - forwarded
  - body-limit
  - ./${name}.ts:
      value: hello
`,
    'package.json': formatPackage(name, {
      scripts: { check: 'tsc', test: 'node --import tsx --test *.test.ts' },
    }),
    'tsconfig.json': TSCONFIG,
    '.gitignore': GITIGNORE,
    'README.md': `# ${name}

A gateway plugin. \`mx.yaml\` lists it with its options; \`mx api\` in this folder uses it, and reloads it when it changes.

Development: \`npm install\`, \`npm test\` and \`npm run check\`.
`,
  }),

  next: () => [
    ['npm install', 'install the compiler and the SDK'],
    ['npm test', 'test it with a request'],
    ['mx api check', 'validate mx.yaml and the plugin'],
    ['mx api', 'start a gateway with it'],
  ],
}
