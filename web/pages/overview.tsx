import type { JSX } from 'preact'
import { Page } from '../parts/page.tsx'

/** What runs, and how it does. */
export default function Overview(): JSX.Element {
  return <Page title="Overview">{null}</Page>
}
