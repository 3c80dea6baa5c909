package org.springframework.core.env;

public interface Environment {
    String getProperty(String key);
}
