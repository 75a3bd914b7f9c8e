"""Search that finds any Chinese word inside a sentence.

Chinese is written without spaces. Sphinx cuts it into words with jieba for the index,
and not at all when a reader asks; but both have to take the same for a word. Here both
take every two neighbouring characters, so that whatever is asked for, also a term that
no dictionary has, is found on every page that has it.
"""

import re

from sphinx.search.en import SearchEnglish

CHINESE = "\u3400-\u9fff"
RUNS = re.compile(f"[{CHINESE}]+|[^\\W{CHINESE}]+")

# The same for the reader's words, except that a single character counts only if it
# stands alone.
SPLITTER = rf"""
function splitQuery(query) {{
  const runs = query.match(/[{CHINESE}]+|[\p{{L}}\p{{N}}_]+/gu) || [];
  return runs.flatMap((run) => {{
    if (!/[{CHINESE}]/.test(run) || run.length === 1) return [run];
    return Array.from(run.slice(1), (_, i) => run.slice(i, i + 2));
  }});
}}
"""


def is_chinese(text):
    return re.match(f"[{CHINESE}]", text) is not None


def pieces(text):
    """The characters of Chinese and their pairs; other words whole."""
    found = []
    for run in RUNS.findall(text):
        if is_chinese(run):
            found += [*run, *(run[i : i + 2] for i in range(len(run) - 1))]
        else:
            found.append(run)
    return found


class ChineseSearch(SearchEnglish):
    """English words are treated as in an English book."""

    lang = "zh"
    language_name = "Chinese"
    js_splitter_code = SPLITTER

    def split(self, input):
        return pieces(input)

    def word_filter(self, word):
        return is_chinese(word) or super().word_filter(word)
