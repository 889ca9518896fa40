"""What GitHub tells only through GraphQL: which review threads are resolved, what is linked with what, who edited.

Source: https://docs.github.com/en/graphql/reference/objects#pullrequest, #issue
"""

from __future__ import annotations

#: threads a page, and comments of each; what is longer is counted
THREADS, COMMENTS = 50, 30
#: issues of a pull request, pull requests of an issue
LINKED = 20

REVIEW_THREADS = f"""\
query($owner: String!, $name: String!, $number: Int!, $after: String) {{
  repository(owner: $owner, name: $name) {{
    pullRequest(number: $number) {{
      reviewThreads(first: {THREADS}, after: $after) {{
        pageInfo {{ hasNextPage endCursor }}
        nodes {{
          isResolved
          isOutdated
          path
          line
          originalLine
          comments(first: {COMMENTS}) {{
            totalCount
            nodes {{
              databaseId
              author {{ __typename login ... on User {{ databaseId }} ... on Bot {{ databaseId }} }}
              body
              createdAt
              updatedAt
              url
              isMinimized
            }}
          }}
        }}
      }}
    }}
  }}
}}
"""

_FIELDS = """\
          number
          title
          state
          body
          url
          author { __typename login ... on User { databaseId } ... on Bot { databaseId } }
          repository { nameWithOwner }
"""

CLOSED_BY_PULL = f"""\
query($owner: String!, $name: String!, $number: Int!) {{
  repository(owner: $owner, name: $name) {{
    pullRequest(number: $number) {{
      closingIssuesReferences(first: {LINKED}) {{
        nodes {{
{_FIELDS}        }}
      }}
    }}
  }}
}}
"""

PULLS_OF_ISSUE = f"""\
query($owner: String!, $name: String!, $number: Int!) {{
  repository(owner: $owner, name: $name) {{
    issue(number: $number) {{
      closedByPullRequestsReferences(first: {LINKED}, includeClosedPrs: true) {{
        nodes {{
{_FIELDS}        }}
      }}
    }}
  }}
}}
"""

_EDITED = """\
      userContentEdits(first: 100) {
        totalCount
        nodes { editedAt editor { __typename login ... on User { databaseId } ... on Bot { databaseId } } }
      }
"""
#: who edited a text: none of REST's answers tells
EDITS = f"""\
query($owner: String!, $name: String!, $id: ID!) {{
  repository(owner: $owner, name: $name) {{ nameWithOwner }}
  node(id: $id) {{
    ... on IssueComment {{
{_EDITED}    }}
    ... on Issue {{
{_EDITED}    }}
    ... on PullRequest {{
{_EDITED}    }}
  }}
}}
"""

ADD_REACTION = """\
mutation($subject: ID!, $content: ReactionContent!) {
  addReaction(input: {subjectId: $subject, content: $content}) {
    reaction { content }
  }
}
"""

REMOVE_REACTION = """\
mutation($subject: ID!, $content: ReactionContent!) {
  removeReaction(input: {subjectId: $subject, content: $content}) {
    reaction { content }
  }
}
"""
