import { readFileSync } from 'node:fs'
import { ReflectionKind, RendererEvent } from 'typedoc'

const index = readFileSync('docs/README.md', 'utf8')
/** In the order of the index. */
const pages = [...index.matchAll(/\]\(([\w-]+\.md)\)/g)].map(([, page]) => `docs/${page}`)

/** Navigation and search show titles of pages; the addresses, which exist by then, have the names of the files. */
function showTitles(app) {
  app.renderer.on(
    RendererEvent.BEGIN,
    ({ project }) => {
      for (const document of project.getReflectionsByKind(ReflectionKind.Document)) {
        const text = document.content.map((part) => part.text).join('')
        document.name = /^# (.+)$/m.exec(text)?.[1]?.replaceAll('`', '') ?? document.name
      }
    },
    1000,
  )
}

export default {
  extends: ['./typedoc.json'],
  plugin: [showTitles],
  name: 'mx',
  out: 'dist/site',
  readme: 'README.md',
  projectDocuments: ['docs/README.md', ...pages, 'docs/decisions/*.md'],
  searchInDocuments: true,
  includeVersion: true,
  includeHierarchySummary: false,
  sort: ['documents-first', 'source-order'],
  validation: { notExported: false, invalidLink: true, notDocumented: false },
  highlightLanguages: [
    ...[
      'shell',
      'hcl',
      'javascript',
      'json',
      'nginx',
      'proto',
      'python',
      'sql',
      'typescript',
      'yaml',
    ],
  ],
}
