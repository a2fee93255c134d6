import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { parse } from 'yaml'
import { createConfigSchema } from '../../platform/config/schema/create-schema.ts'
import { ROOT } from '../../scripts/root.ts'
import { findSchemaErrors } from '../fixtures/config-schema.ts'

const PAGES = ['README.md', ...readdirSync(join(ROOT, 'docs')).map((name) => `docs/${name}`)]
const FENCE = /^```ya?ml\n([\s\S]*?)^```/gm

const KEYS = Object.keys(createConfigSchema()['properties'] as object)
/** Keys of files of other programs, and of the configuration of a service. */
const OTHERS = ['_format_version', 'apiVersion', 'run']

/** Whether a text is the configuration of a gateway. */
function isConfig(yaml: string): boolean {
  try {
    const value: unknown = parse(yaml)
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return false
    const keys = Object.keys(value)
    return keys.some((key) => KEYS.includes(key)) && !keys.some((key) => OTHERS.includes(key))
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

t.test('every mx.yaml of docs and examples is valid by the JSON Schema', (t) => {
  let count = 0
  for (const page of PAGES.filter((name) => name.endsWith('.md')))
    for (const yaml of listExamples(readFileSync(join(ROOT, page), 'utf8'))) {
      count++
      t.same(findSchemaErrors(yaml), [], `${page}: ${yaml.split('\n', 1)[0]}`)
    }
  for (const file of listYamlFiles('examples')) {
    const yaml = readFileSync(join(ROOT, file), 'utf8')
    if (isConfig(yaml)) t.same(findSchemaErrors(yaml), [], file)
  }
  t.ok(count >= 10, `${count} examples`)
  t.end()
})
