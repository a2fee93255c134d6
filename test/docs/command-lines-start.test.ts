import t from 'tap'
import { typeGuides } from '../fixtures/guides.ts'

await typeGuides(t, ['README.md', 'docs/quick-start.md', 'docs/runtime.md'])
