import t from 'tap'
import { typeGuides } from '../fixtures/guides.ts'
import { installPackage } from '../fixtures/installed-package.ts'

// What a new user reads first runs from the package as npm packs it.
const guides = ['README.md', 'docs/quick-start.md', 'docs/runtime.md']
await typeGuides(t, guides, [installPackage(t).main])
