import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { parse } from 'yaml'
import { References } from '../../platform/config/references/references.ts'
import { createConfigSchema } from '../../platform/config/schema/create-schema.ts'
import { ROOT } from '../../scripts/root.ts'
import { createCertificate } from '../fixtures/certificates.ts'
import { findParserErrors, findSchemaErrors } from '../fixtures/config-schema.ts'
import { makeTempFolder } from '../fixtures/temp-folder.ts'

const PAGES = ['README.md', ...readdirSync(join(ROOT, 'docs')).map((name) => `docs/${name}`)]
const FENCE = /^```ya?ml\n([\s\S]*?)^```/gm

const KEYS = Object.keys(createConfigSchema()['properties'] as object)
/** Keys of files of other programs, and of the configuration of a service. */
const OTHER_KEYS = ['_format_version', 'apiVersion', 'run']

/** Whether a text is the configuration of a gateway. */
function isConfig(yaml: string): boolean {
  try {
    const value: unknown = parse(yaml)
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return false
    const keys = Object.keys(value)
    return keys.some((key) => KEYS.includes(key)) && !keys.some((key) => OTHER_KEYS.includes(key))
  } catch {
    return false
  }
}

function listExamples(text: string): readonly string[] {
  return [...text.matchAll(FENCE)].map(([, yaml = '']) => yaml).filter(isConfig)
}

function listYamlFiles(folder: string): readonly string[] {
  return readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })
    .filter((name) => /(?:^|\/)mx\.ya?ml$/.test(name))
    .map((name) => join(folder, name))
}

/** Errors of the parser, for the command that accepts more of it. */
function findErrors(t: Test, yaml: string): readonly string[] {
  const folder = makeTempFolder(t, 'docs')
  writeFileSync(join(folder, 'shop-ca.pem'), createCertificate(['ca.test']).cert)
  writeFileSync(join(folder, 'billing_key'), 'key')
  const text = yaml.replaceAll('/run/secrets', folder)
  const [first, second] = (['api', 'server'] as const).map((command) => {
    const references = new References({ BILLING_HOST: 'billing.test' })
    references.secrets = new Map([['billing.key', 'key']])
    return findParserErrors(text, command, join(folder, 'mx.yaml'), references)
  }) as [readonly string[], readonly string[]]
  return second.length < first.length ? second : first
}

t.test('the JSON Schema and the parser accept every mx.yaml in docs and examples', (t) => {
  let count = 0
  for (const page of PAGES.filter((name) => name.endsWith('.md')))
    for (const yaml of listExamples(readFileSync(join(ROOT, page), 'utf8'))) {
      count++
      const title = `${page}: ${yaml.split('\n', 1)[0]}`
      t.same(findSchemaErrors(yaml), [], title)
      t.same(findErrors(t, yaml), [], title)
    }
  for (const file of listYamlFiles('examples')) {
    const yaml = readFileSync(join(ROOT, file), 'utf8')
    if (isConfig(yaml)) t.same(findSchemaErrors(yaml), [], file)
  }
  t.ok(count >= 10, `${count} examples`)
  t.end()
})
